package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

// proxied is a server behind a real proxy with TLS.
type proxied struct {
	*server
	site   string // the public address
	pool   *x509.CertPool
	ca     string // the certificate, a file
	person *client.Client
}

// proxy is a program that has an example configuration.
type proxy struct {
	program, install string
	example          string
	below            [2]string // replacement to serve below a path
	configure        func(text, cert, key, listen, dir string) string
	args             func(file, dir, listen string) []string
}

var proxies = []proxy{
	{
		program: "nginx", install: "apt-get install nginx-light", example: "examples/proxy/nginx.conf",
		below: [2]string{"location / {", "location /taskyard/ {"},
		configure: func(text, cert, key, listen, dir string) string {
			text = replaced(text, "listen 443 ssl", "listen "+listen+" ssl", "tasks.example.org;", "localhost;",
				"/etc/ssl/certs/taskyard.pem", cert, "/etc/ssl/private/taskyard.pem", key)
			return fmt.Sprintf("daemon off;\nmaster_process off;\npid %[1]s/pid;\nerror_log %[1]s/error.log;\nevents {}\nhttp {\naccess_log off;\n"+
				"client_body_temp_path %[1]s/b;\nproxy_temp_path %[1]s/p;\nfastcgi_temp_path %[1]s/f;\nuwsgi_temp_path %[1]s/u;\n"+
				"scgi_temp_path %[1]s/s;\n%[2]s}\n", dir, text)
		},
		args: func(file, dir, _ string) []string {
			return []string{"-c", file, "-p", dir, "-e", filepath.Join(dir, "error.log")}
		},
	},
	{
		program: "caddy", install: "apt-get install caddy", example: "examples/proxy/Caddyfile",
		below: [2]string{"\treverse_proxy 127.0.0.1", "\treverse_proxy /taskyard/* 127.0.0.1"},
		configure: func(text, cert, key, listen, dir string) string {
			text = replaced(text, "\ntasks.example.org {", "\nhttps://"+strings.Replace(listen, "127.0.0.1", "localhost", 1)+
				" {\n\tbind 127.0.0.1\n\ttls "+cert+" "+key)
			return "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system " + dir + "\n}\n" + text
		},
		args: func(file, _, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
	},
	{
		program: "traefik", install: "see traefik.io", example: "examples/proxy/traefik.yml",
		below: [2]string{"rule: Host(`tasks.example.org`)", "rule: Host(`tasks.example.org`) && PathPrefix(`/taskyard`)"},
		configure: func(text, cert, key, _, _ string) string {
			return replaced(text, "Host(`tasks.example.org`)", "Host(`localhost`)", "tls:\n        certResolver: letsencrypt", "tls: {}") +
				fmt.Sprintf("tls:\n  certificates:\n    - { certFile: %s, keyFile: %s }\n", cert, key)
		},
		args: func(file, _, listen string) []string {
			return []string{"--entrypoints.websecure.address=" + listen, "--providers.file.filename=" + file, "--global.checknewversion=false"}
		},
	},
}

// replaced replaces texts that must exist, in pairs.
func replaced(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			panic("the example has no " + pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// behind starts a server behind a proxy, with the example's configuration file.
func behind(t *testing.T, p proxy, path string) *proxied {
	t.Helper()
	program, err := exec.LookPath(p.program)
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/" + p.program); err != nil {
			t.Skipf("%s is missing: %s", p.program, p.install)
		}
	}
	dir, listen := t.TempDir(), freeAddress(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	srv := &proxied{server: newServer(t, "serve"), pool: certificate(t, cert, key, 1, "localhost"), ca: cert}
	_, port, err := net.SplitHostPort(listen)
	testkit.NoError(t, err)
	srv.public = "localhost:" + port
	srv.site = "https://" + srv.public + path
	srv.file("taskyard.toml", fmt.Sprintf("public_url = %q\ntrusted_proxies = [\"127.0.0.1\"]\n[approval]\npolicy = \"never\"\n"+
		"[runners.far]\nkind = \"worker\"\n", srv.site))
	srv.file("agents/far.md", "---\nname: far\ndescription: Works elsewhere.\ntools: read\nrunner: far\n---\nWork.\n")
	srv.start()

	b := read(t, p.example)
	text := replaced(b, "127.0.0.1:8080", srv.address)
	if path != "" {
		text = replaced(text, p.below[0], p.below[1])
	}
	file := put(t, filepath.Join(dir, filepath.Base(p.example)), p.configure(text, cert, key, listen, dir))
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, p.args(file, dir, listen)...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	startBeside(t, cmd)
	t.Cleanup(func() {
		if errs, _ := os.ReadFile(filepath.Join(dir, "error.log")); t.Failed() {
			t.Logf("errors of %s:\n%s", p.program, errs)
		}
	})
	testkit.Eventually(t, p.program+" forwards requests", func() bool {
		status, err := srv.health(t.Context())
		return err == nil && status == http.StatusOK
	})
	srv.person = srv.through(srv.token("--scope", "operate"))
	return srv
}

// health requests, through the proxy, whether the server is alive.
func (srv *proxied) health(ctx context.Context) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.site+"/healthz", nil)
	if err != nil {
		return 0, err
	}
	res, err := srv.transport().RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

func (srv *proxied) transport() http.RoundTripper {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: srv.pool}, ForceAttemptHTTP2: true}
}

// through returns a client that reaches the server through the proxy.
func (srv *proxied) through(token string) *client.Client {
	return &client.Client{URL: srv.site, Token: token, HTTP: &http.Client{Timeout: patience, Transport: srv.transport()}}
}

func TestBehindRealProxies(t *testing.T) {
	t.Parallel()
	for _, p := range proxies {
		for _, path := range []string{"", "/taskyard"} {
			t.Run(p.program+" at "+path+"/", func(t *testing.T) {
				t.Parallel()
				srv := behind(t, p, path)
				b := newBrowser(t)
				b.c.Transport, b.c.Timeout = srv.transport(), 0
				if to := b.setUp(srv.first, srv.site); to != path+"/" {
					t.Fatalf("for the sign-in, got location %q", to)
				}
				srv.board(t, b)
				srv.tools(t)
				srv.longPoll(t)
				srv.worker(t)
			})
		}
	}
}

// board watches the live board: each change arrives immediately, in one stream, for
// five minutes in the thorough form.
func (srv *proxied) board(t *testing.T, b *browser) {
	t.Helper()
	if status, page := b.get(srv.site + "/queues"); status != http.StatusOK || !strings.Contains(page, "general-purpose") {
		t.Fatalf("for the board, got status %d", status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.site+"/live?topics=queues", nil)
	testkit.NoError(t, err)
	res, err := b.c.Do(req)
	testkit.NoError(t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("for the stream, got status %s", res.Status)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	arrives := func(what string) {
		t.Helper()
		late := time.NewTimer(10 * time.Second)
		defer late.Stop()
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("the stream ended before %s", what)
				}
				if strings.HasPrefix(line, what) {
					return
				}
			case <-late.C:
				t.Fatalf("%s did not arrive within 10 s", what)
			}
		}
	}
	arrives("event: hello")
	length := 2 * time.Second
	if testkit.Thorough() {
		length = 5 * time.Minute
	}
	began, n := time.Now(), 0
	for wait := time.NewTicker(length / 4); time.Since(began) < length; <-wait.C {
		srv.makeTasks(srv.person, 1)
		arrives("data: [")
		n++
	}
	t.Logf("%d changes arrived in one stream of %s", n, time.Since(began).Round(time.Second))
}

// tools calls an MCP tool.
func (srv *proxied) tools(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), "mcp")
	token := srv.token("--agent", "general-purpose", "--name", "mcp")
	cmd.Env = append(os.Environ(), "TASKYARD_URL="+srv.site, "TASKYARD_TOKEN="+token, "SSL_CERT_FILE="+srv.ca)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"signup_for_task","arguments":{"agent_name":"general-purpose"}}}` + "\n")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"id":2`) || strings.Contains(string(out), `"error"`) {
		t.Errorf("for a tool call, got %v, %s", err, out)
	}
}

// longPoll waits for a task as a pulling agent does.
func (srv *proxied) longPoll(t *testing.T) {
	t.Helper()
	agent, reader := srv.through(srv.token("--agent", "code-focused", "--name", "puller")), srv.token("--scope", "read", "--name", "reader")
	got := make(chan string, 1)
	go func() {
		var out map[string]any
		err := agent.Do(t.Context(), "POST", "/api/agents/code-focused/signup", map[string]any{"waitSeconds": 40}, &out)
		got <- fmt.Sprint(out, err)
	}()
	testkit.Eventually(t, "the call waits", func() bool { return srv.metric(reader, "taskyard_signups_waiting") == "1" })
	call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Long awaited", "owner": "code-focused"})
	select {
	case said := <-got:
		if !strings.Contains(said, "Long awaited") {
			t.Errorf("the long poll returned %s", said)
		}
	case <-time.After(patience):
		t.Error("the long poll did not return")
	}
}

// worker executes a run through the proxy.
func (srv *proxied) worker(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary(t), "worker", "--url", srv.site,
		"--dir", filepath.Join(t.TempDir(), "w"), "--exec", "/bin/echo far away")
	cmd.Env = append(os.Environ(), "TASKYARD_TOKEN="+srv.token("--scope", "worker", "--name", "machines"), "SSL_CERT_FILE="+srv.ca)
	startBeside(t, cmd)
	made := call[task.Task](t, srv.person, "POST", "/api/tasks", map[string]any{"title": "Do it there", "owner": "far"})
	testkit.Eventually(t, "the worker has completed its run", func() bool {
		rows := srv.rows("SELECT summary FROM runs WHERE task_id = ? AND status = 'completed'", made.ID.String())
		return len(rows) == 1 && strings.Contains(rows[0], "far away")
	})
}
