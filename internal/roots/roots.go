// Package roots provides Mozilla's root certificates to machines without any,
// such as an empty container.
package roots

import (
	"crypto/x509"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// places are where systems store their root certificates; crypto/x509 looks
// there, too.
var places = []string{
	"/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/system/etc/security/cacerts", "/usr/local/share/certs",
}

// Use makes this process verify with the embedded certificates if the system
// has none. Call it once, before anything is verified. Other processes do not
// need it: the certificates take 7 MB of memory per process.
func Use(getenv func(string) string) {
	if !needed(getenv, places) {
		return
	}
	x509.SetFallbackRoots(embedded())
}

// embedded returns the embedded certificates.
func embedded() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // requires a newer version of Go's library
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}

// needed reports whether the system has no certificates and no variable names
// any. An empty folder has none.
func needed(getenv func(string) string, places []string) bool {
	if getenv("SSL_CERT_FILE") != "" || getenv("SSL_CERT_DIR") != "" {
		return false
	}
	for _, place := range places {
		fi, err := os.Stat(place)
		if err != nil {
			continue
		}
		if list, err := os.ReadDir(place); !fi.IsDir() || err == nil && len(list) > 0 {
			return false
		}
	}
	return true
}
