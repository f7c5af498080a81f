package roots

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func TestCertificatesAreIncludedWhereThereAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, full, file := filepath.Join(dir, "empty"), filepath.Join(dir, "full"), filepath.Join(dir, "full", "cert.pem")
	for _, folder := range []string{empty, full} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	absent := filepath.Join(dir, "absent")
	tests := []struct {
		name   string
		places []string
		env    map[string]string
		want   bool
	}{
		{"no place exists", []string{absent}, nil, true},
		{"a folder is empty", []string{absent, empty}, nil, true},
		{"a folder has certificates", []string{empty, full}, nil, false},
		{"a file has certificates", []string{absent, file}, nil, false},
		{"a variable names a file", []string{absent}, map[string]string{"SSL_CERT_FILE": "x"}, false},
		{"a variable names a folder", []string{absent}, map[string]string{"SSL_CERT_DIR": "x"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := needed(func(k string) string { return test.env[k] }, test.places); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestEveryCertificateCanBeRead(t *testing.T) {
	t.Parallel()
	n := 0
	for root := range bundle.Roots() {
		if _, err := x509.ParseCertificate(root.Certificate); err != nil {
			t.Error(err)
		}
		n++
	}
	if n < 100 {
		t.Errorf("got only %d certificates", n)
	}
}

// The chain is one that a public server sent, verified at a time when it was valid.
func TestAPublicServerIsVerified(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/chain.pem")
	if err != nil {
		t.Fatal(err)
	}
	var chain []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, cert)
	}
	if len(chain) != 2 {
		t.Fatalf("got %d certificates", len(chain))
	}
	opt := x509.VerifyOptions{
		Roots: embedded(), Intermediates: x509.NewCertPool(), CurrentTime: chain[0].NotBefore.AddDate(0, 0, 7), DNSName: "www.google.com",
	}
	if _, err := chain[0].Verify(opt); err == nil {
		t.Error("a server without its intermediate certificate was verified")
	}
	opt.Intermediates.AddCert(chain[1])
	if _, err := chain[0].Verify(opt); err != nil {
		t.Error(err)
	}
	opt.Roots = x509.NewCertPool()
	if _, err := chain[0].Verify(opt); err == nil {
		t.Error("a server was verified without roots")
	}
}
