package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// DefaultURL is the default URL of the server.
const DefaultURL = "http://127.0.0.1:8080"

// AddressFile is where the service of this machine writes its address.
const AddressFile = "/run/taskyard/address"

// maxAddress bounds how much of an address file is read, in bytes.
const maxAddress = 4096

// address returns TASKYARD_URL, or else the address of the service on this
// machine, or else the default.
func (e *Env) address() (string, error) {
	if at := e.Getenv("TASKYARD_URL"); at != "" {
		return at, checkAddress("TASKYARD_URL", at)
	}
	if e.AddressFile == "" {
		return DefaultURL, nil
	}
	f, err := os.Open(e.AddressFile)
	if err != nil {
		return DefaultURL, nil //nolint:nilerr // no service runs here, or it is not for everybody
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAddress))
	if err != nil {
		return "", err
	}
	at := strings.TrimSpace(string(b))
	return at, checkAddress(e.AddressFile, at)
}

func checkAddress(source, at string) error {
	if socket, ok := socketPath(at); ok && filepath.IsAbs(socket) {
		return nil
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usagef("%s is %q, not an address such as %s or unix:/run/taskyard/taskyard.sock", source, at, DefaultURL)
	}
	return nil
}

// socketPath returns the path of the socket in an address such as
// unix:/run/taskyard/taskyard.sock.
func socketPath(at string) (path string, ok bool) { return strings.CutPrefix(at, "unix:") }

// BaseURL returns the base URL for requests to a server, and their transport: nil
// for the default, unless the server is behind a socket.
func BaseURL(at string) (base string, transport http.RoundTripper) {
	socket, ok := socketPath(at)
	if !ok {
		return strings.TrimSuffix(at, "/"), nil
	}
	return "http://localhost", &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
}
