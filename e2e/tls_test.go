package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	enc "encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"taskyard/internal/testkit"
	"taskyard/task"
)

// certificate writes a self-signed certificate for names, and its key, and returns a
// pool that trusts it.
func certificate(t testing.TB, certFile, keyFile string, serial int64, names ...string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: names[0]},
		DNSNames:              names,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	testkit.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	testkit.NoError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for file, b := range map[string][]byte{certFile: text, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})} {
		put(t, file, string(b))
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// dialTo returns a transport that always connects to one address.
func dialTo(address string, c *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig: c, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	}
}

// certificateSerial returns the serial number of the certificate that a server presents.
func certificateSerial(t *testing.T, address string, c *tls.Config) int64 {
	t.Helper()
	conn, err := (&tls.Dialer{Config: c}).DialContext(t.Context(), "tcp", address)
	testkit.NoError(t, err)
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestTheServerSpeaksTLS(t *testing.T) {
	t.Parallel()
	s := newServer(t, "serve")
	s.public = "tasks.example"
	dir := t.TempDir()
	cert, key, plain := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), freeAddress(t)
	pool := certificate(t, cert, key, 1, "tasks.example")
	site := "https://tasks.example"
	report := filepath.Join(dir, "said")
	s.file("taskyard.toml", fmt.Sprintf("public_url = %q\n[tls]\ncert = %q\nkey = %q\nredirect = %q\n[approval]\npolicy = \"never\"\n"+
		"[runners.script]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"%s task show $TASKYARD_TASK_ID > %s; echo done\"]\n",
		site, cert, key, plain, binary(t), report))
	s.file("agents/worker.md", "---\nname: worker\ndescription: Reads its task.\ntools: read\nrunner: script\n---\nWork.\n")
	s.start()
	if !strings.HasPrefix(s.first, site+"/setup?token=") {
		t.Errorf("got the first line %q", s.first)
	}
	trusted := &tls.Config{RootCAs: pool, ServerName: "tasks.example"}
	b := newBrowser(t)
	b.c.Transport = dialTo(s.address, trusted)
	api := s.api(s.token("--scope", "operate"))
	api.URL, api.HTTP.Transport = site, dialTo(s.address, trusted)

	t.Run("with TLS 1.2 and newer only", func(t *testing.T) {
		old := &tls.Config{RootCAs: pool, ServerName: "tasks.example", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		if conn, err := (&tls.Dialer{Config: old}).DialContext(t.Context(), "tcp", s.address); err == nil {
			_ = conn.Close()
			t.Error("TLS 1.1 is accepted")
		}
	})
	t.Run("with cookies and headers for https", func(t *testing.T) {
		b.setUp(s.first, site)
		res, err := b.c.Get(site + "/")
		testkit.NoError(t, err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Strict-Transport-Security") == "" || res.ProtoMajor != 2 {
			t.Errorf("got %s %s, %v", res.Proto, res.Status, res.Header)
		}
	})
	t.Run("plain requests are redirected to https", func(t *testing.T) {
		for _, c := range []struct{ method, path, to string }{
			{"GET", "/tasks/1?a=b", site + "/tasks/1?a=b"}, {"GET", "//evil.example/x", site + "//evil.example/x"}, {"POST", "/login", ""},
		} {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+plain+c.path, nil)
			testkit.NoError(t, err)
			req.Host = "evil.example"
			res, err := (&http.Transport{}).RoundTrip(req)
			testkit.NoError(t, err)
			_ = res.Body.Close()
			if got := res.Header.Get("Location"); got != c.to {
				t.Errorf("%s %s: got location %q, want %q", c.method, c.path, got, c.to)
			}
		}
	})
	t.Run("its runs can reach it", func(t *testing.T) {
		made := call[task.Task](t, api, "POST", "/api/tasks", map[string]any{"title": "Reach the server", "owner": "worker"})
		testkit.Eventually(t, "the run is over", func() bool {
			ended := s.rows("SELECT phase || ' ' || coalesce(reason, '') FROM runs WHERE task_id = ? AND ended_at IS NOT NULL", made.ID.String())
			return len(ended) > 0
		})
		if said, err := os.ReadFile(report); err != nil || !strings.Contains(string(said), "Reach the server") {
			t.Errorf("the run read %q, %v", said, err)
		}
	})
	t.Run("a new certificate is used, and an invalid one is not", func(t *testing.T) {
		insecure := &tls.Config{InsecureSkipVerify: true, ServerName: "tasks.example"}
		certificate(t, cert, key, 2, "tasks.example")
		testkit.Eventually(t, "the new certificate is presented", func() bool { return certificateSerial(t, s.address, insecure) == 2 })
		certificate(t, cert, filepath.Join(dir, "other.pem"), 3, "tasks.example") // not the matching key
		testkit.Eventually(t, "the log reports it", func() bool { return strings.Contains(s.log.String(), "failed to use the new certificate") })
		if got := certificateSerial(t, s.address, insecure); got != 2 {
			t.Errorf("got certificate %d", got)
		}
	})
}

// nameServer answers each request for an IPv4 address with this machine, over TCP, as
// pebble needs.
func nameServer(t *testing.T) (address string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for answerName(conn) == nil {
					continue
				}
			}()
		}
	}()
	return ln.Addr().String()
}

func answerName(conn net.Conn) error {
	var size uint16
	if err := enc.Read(conn, enc.BigEndian, &size); err != nil {
		return err
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(conn, b); err != nil {
		return err
	}
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		return err
	}
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true}, Questions: m.Questions}
	for _, q := range m.Questions {
		if q.Type == dnsmessage.TypeA {
			answer.Answers = append(answer.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			})
		}
	}
	out, err := answer.Pack()
	if err != nil {
		return err
	}
	_, err = conn.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
	return err
}

func addressPort(t *testing.T, address string) json.Number {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	testkit.NoError(t, err)
	return json.Number(port)
}

func TestTheServerObtainsItsCertificate(t *testing.T) {
	t.Parallel()
	t.Run("proved on the TLS port", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, "serve")
		s.obtainsItsCertificate(t, map[string]json.Number{"httpPort": "1", "tlsPort": addressPort(t, s.address)}, "")
	})
	t.Run("proved on the plain HTTP port", func(t *testing.T) {
		t.Parallel()
		plain := freeAddress(t)
		newServer(t, "serve").obtainsItsCertificate(t, map[string]json.Number{"httpPort": addressPort(t, plain), "tlsPort": "1"},
			fmt.Sprintf("redirect = %q\n", plain))
	})
}

// obtainsItsCertificate starts a server that proves its name to a real authority on
// one of two ports.
func (s *server) obtainsItsCertificate(t *testing.T, ports map[string]json.Number, redirect string) {
	t.Helper()
	pebble := installed(t, "pebble", "go install github.com/letsencrypt/pebble/v2/cmd/pebble@latest, into PATH")
	s.public = "tasks.example"
	dir, directory := t.TempDir(), freeAddress(t)
	cert, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem")
	certificate(t, cert, key, 1, "localhost")
	conf, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": directory, "managementListenAddress": freeAddress(t), "certificate": cert, "privateKey": key,
		"httpPort": ports["httpPort"], "tlsPort": ports["tlsPort"], "ocspResponderURL": "",
	}})
	testkit.NoError(t, err)
	put(t, filepath.Join(dir, "pebble.json"), string(conf))
	cmd := exec.CommandContext(t.Context(), pebble, "-config", filepath.Join(dir, "pebble.json"), "-dnsserver", nameServer(t))
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	startBeside(t, cmd)
	testkit.Eventually(t, "pebble listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", directory)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	s.env = []string{"SSL_CERT_FILE=" + cert}
	s.file("taskyard.toml", fmt.Sprintf("public_url = \"https://tasks.example\"\n[tls]\nacme = \"ops@tasks.example\"\n"+
		"acme_directory = \"https://%s/dir\"\n%s", directory, redirect))
	s.start()
	shown := func(name string) (*x509.Certificate, error) {
		insecure := &tls.Config{InsecureSkipVerify: true, ServerName: name}
		conn, err := (&tls.Dialer{Config: insecure}).DialContext(t.Context(), "tcp", s.address)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	first, err := shown("tasks.example")
	if err != nil {
		t.Fatalf("%v\n%s", err, s.log.Tail(2000))
	}
	if !strings.HasPrefix(first.Issuer.CommonName, "Pebble") || first.VerifyHostname("tasks.example") != nil {
		t.Errorf("got a certificate for %v, by %v", first.DNSNames, first.Issuer)
	}
	if _, err := shown("other.example"); err == nil {
		t.Error("a certificate was obtained for an arbitrary requested name")
	}
	s.kill()
	s.start()
	if again, err := shown("tasks.example"); err != nil || again.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Errorf("after a restart, it obtained another certificate: %v", err)
	}
	file := filepath.Join(t.TempDir(), "b.tar.zst")
	must(t, "", "backup", "--data", s.data, file)
	to := filepath.Join(t.TempDir(), "data")
	must(t, "", "restore", "--data", to, file)
	for name := range files(t, to) {
		if strings.HasPrefix(name, "acme") {
			t.Errorf("the backup contains %s", name)
		}
	}
}
