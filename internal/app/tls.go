package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"taskyard/internal/config"
	"taskyard/internal/sleep"
)

// acmeName is the folder of certificates obtained by ACME. They are not backed
// up: private keys stay on their machine.
const acmeName = "acme"

const certificateLook = 2 * time.Second // interval for checking the certificate's files

// encryption is the TLS setup of the server.
type encryption struct {
	config      *tls.Config
	httpHandler http.Handler          // handles plain HTTP
	watch       func(context.Context) // runs until its context ends
}

// newEncryption returns nil if the server uses plain HTTP. It returns an error
// if the certificate cannot be read.
func newEncryption(c *config.Config, log *slog.Logger) (*encryption, error) {
	to := httpsRedirect(c.PublicURL)
	switch {
	case c.TLS.ACME != "":
		m := &autocert.Manager{
			Prompt: autocert.AcceptTOS, Email: c.TLS.ACME, Cache: autocert.DirCache(filepath.Join(c.Data, acmeName)),
			HostPolicy: allowHost(hostFromURL(c.PublicURL)),
			Client:     &acme.Client{DirectoryURL: cmp.Or(c.TLS.ACMEDirectory, acme.LetsEncryptURL), UserAgent: "taskyard"},
		}
		e := &encryption{config: m.TLSConfig(), httpHandler: m.HTTPHandler(to), watch: func(context.Context) {}}
		e.config.MinVersion = tls.VersionTLS12
		e.config.GetCertificate = loggedErrors(m.GetCertificate, log)
		return e, nil
	case c.TLS.Cert == "":
		return nil, nil
	}
	k := &keyPair{certFile: c.TLS.Cert, keyFile: c.TLS.Key, log: log}
	if _, err := k.load(); err != nil {
		return nil, err
	}
	return &encryption{
		config: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: k.get}, httpHandler: to, watch: k.watch,
	}, nil
}

// allowHost allows certificates for one name. Requests contain it with or
// without a port.
func allowHost(name string) autocert.HostPolicy {
	return func(_ context.Context, host string) error {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !strings.EqualFold(host, name) {
			return fmt.Errorf("%.100q is not the host of public_url", host)
		}
		return nil
	}
}

func hostFromURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

type certificateSource = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// loggedErrors logs why there is no certificate, which the client does not see.
func loggedErrors(get certificateSource, log *slog.Logger) certificateSource {
	return func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := get(h)
		if err != nil {
			log.Warn("no certificate", "name", h.ServerName, "error", err)
		}
		return c, err
	}
}

// httpsRedirect redirects plain requests to the public URL. It never uses the
// host of the request, and redirects only reads: the content of other requests
// was sent unencrypted, and must not seem to work.
func httpsRedirect(publicURL string) http.Handler {
	to, _ := url.Parse(publicURL)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "use "+publicURL, http.StatusForbidden)
			return
		}
		u := url.URL{Scheme: "https", Host: to.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, u.String(), http.StatusPermanentRedirect)
	})
}

// keyPair is a certificate in files, which are reloaded when they change.
type keyPair struct {
	certFile, keyFile string
	log               *slog.Logger
	now               atomic.Pointer[tls.Certificate]
	cert, key         []byte // contents when last read
}

// load reads the files, and reports whether they have changed. If the new pair
// is invalid, the last valid one stays in use.
func (k *keyPair) load() (changed bool, err error) {
	cert, err := os.ReadFile(k.certFile)
	if err != nil {
		return false, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := os.ReadFile(k.keyFile)
	if err != nil {
		return false, fmt.Errorf("tls.key: %w", err)
	}
	if bytes.Equal(cert, k.cert) && bytes.Equal(key, k.key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return true, fmt.Errorf("%s and %s are not a certificate with its key: %w", k.certFile, k.keyFile, err)
	}
	k.cert, k.key = cert, key
	k.now.Store(&pair)
	return true, nil
}

func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.now.Load(), nil }

// watch watches the files. It compares contents, because certificates are often
// links that are replaced.
func (k *keyPair) watch(ctx context.Context) {
	lastError := ""
	for sleep.For(ctx, certificateLook) {
		switch changed, err := k.load(); {
		case err == nil && changed:
			k.log.Info("certificate read again", "file", k.certFile, "expires", k.now.Load().Leaf.NotAfter)
			lastError = ""
		case err == nil:
			lastError = ""
		case err.Error() != lastError:
			k.log.Error("failed to use the new certificate; the last valid one is still in use", "error", err)
			lastError = err.Error()
		}
	}
}

// serveHTTP serves on ln, with TLS if configured, until srv is shut down.
func (e *encryption) serveHTTP(srv *http.Server, ln net.Listener) error {
	if e == nil {
		return srv.Serve(ln)
	}
	srv.TLSConfig = e.config
	return srv.ServeTLS(ln, "", "")
}

// servePlain redirects plain HTTP on an address, until stop is called.
func (e *encryption) servePlain(ctx context.Context, address string, log *slog.Logger) (stop func(), err error) {
	if e == nil || address == "" {
		return func() {}, nil
	}
	ln, err := listen(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("tls.redirect: %w", err)
	}
	srv := &http.Server{
		Handler: e.httpHandler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Error("redirects to https have ended", "error", err)
		}
	}()
	return func() { _ = srv.Close() }, nil
}
