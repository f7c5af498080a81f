package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"taskyard/internal/testkit"
)

// composed is the part of a Compose file that a test checks.
type composed struct {
	Services map[string]struct {
		Image       string
		Environment map[string]string
		Secrets     []string
		Volumes     []string
	}
	Secrets map[string]struct{ File string }
}

// TestTheClusterOfComposeFitsTogether: the upgrade tests run its Caddyfile.
func TestTheClusterOfComposeFitsTogether(t *testing.T) {
	t.Parallel()
	const folder = "packaging/cluster/"
	text := read(t, folder+"compose.yaml")
	var all composed
	testkit.NoError(t, yaml.Unmarshal([]byte(text), &all))
	given := regexp.MustCompile(`\$\{([A-Z_]+)[^}]*\}`)
	values := map[string]string{"TASKYARD_SITE": "tasks.example.org", "TZ": "Europe/Berlin", "TASKYARD_IMAGE": "taskyard"}
	caddy := all.Services["caddy"].Environment

	t.Run("the servers are configured", func(t *testing.T) {
		var servers []string
		for name, s := range all.Services {
			if s.Image != all.Services["taskyard-1"].Image {
				continue
			}
			servers = append(servers, name+":8080")
			cmd := exec.CommandContext(t.Context(), binary(t), "config", "check", "--data", t.TempDir())
			cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
			for k, v := range s.Environment {
				v = given.ReplaceAllStringFunc(v, func(ref string) string {
					known := values[given.FindStringSubmatch(ref)[1]]
					if known == "" {
						t.Errorf("%s uses %s", name, ref)
					}
					return known
				})
				cmd.Env = append(cmd.Env, k+"="+v)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("configuration of %s: %v: %s", name, err, out)
			}
			if !slices.Contains(strings.Split(s.Environment["TASKYARD_ALLOWED_HOSTS"], ","), name) {
				t.Errorf("%s does not accept its own name, which Caddy uses for health checks", name)
			}
		}
		slices.Sort(servers)
		if got := strings.Join(servers, " "); len(servers) != 3 || caddy["TASKYARD_SERVERS"] != got {
			t.Errorf("Caddy forwards requests to %q, want %q", caddy["TASKYARD_SERVERS"], got)
		}
	})
	t.Run("Caddy gets the variables of its file", func(t *testing.T) {
		file := read(t, folder+"Caddyfile")
		for _, m := range regexp.MustCompile(`\{\$([A-Z_]+)\}`).FindAllStringSubmatch(file, -1) {
			if caddy[m[1]] == "" {
				t.Errorf("Caddy does not get %s", m[1])
			}
		}
		program := installed(t, "caddy", "apt-get install caddy")
		cmd := exec.CommandContext(t.Context(), program, "validate", "--adapter", "caddyfile", "--config", folder+"Caddyfile")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TASKYARD_SITE=tasks.example.org", "TASKYARD_SERVERS="+caddy["TASKYARD_SERVERS"])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("mounted files exist, and the script creates the secrets", func(t *testing.T) {
		dir := t.TempDir()
		script := read(t, folder+"secrets.sh")
		put(t, filepath.Join(dir, "secrets.sh"), script)
		output(t, exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "secrets.sh")))
		image := read(t, "packaging/Containerfile")
		for name, s := range all.Secrets {
			if made, err := os.ReadFile(filepath.Join(dir, s.File)); err != nil || len(made) < 48 {
				t.Errorf("secret %s: %d bytes, %v", name, len(made), err)
			}
		}
		for name, s := range all.Services {
			for _, secret := range s.Secrets {
				if all.Secrets[secret].File == "" {
					t.Errorf("%s has an unknown secret %s", name, secret)
				}
			}
			for k, v := range s.Environment {
				if path, ok := strings.CutPrefix(v, "/run/secrets/"); ok && !slices.Contains(s.Secrets, path) {
					t.Errorf("%s of %s refers to %s, which it does not get", k, name, v)
				}
			}
			for _, v := range s.Volumes {
				from, at, _ := strings.Cut(v, ":")
				if s.Image == all.Services["taskyard-1"].Image && !strings.Contains(image, "--chown=65532:65532 "+at+" "+at+"\n") {
					t.Errorf("a new volume at %s of %s would belong to root: the image has no such folder", at, name)
				}
				if !strings.HasPrefix(from, "./") {
					continue
				}
				if _, err := os.Stat(folder + from); err != nil {
					t.Errorf("%s mounts %v", name, err)
				}
				if strings.HasSuffix(from, ".sh") {
					if out, err := exec.CommandContext(t.Context(), "sh", "-n", folder+from).CombinedOutput(); err != nil {
						t.Errorf("%s: %s", from, out)
					}
				}
			}
		}
	})
	t.Run("each database host has the configured role", func(t *testing.T) {
		role := func(t *testing.T, primary string, files ...string) (out string, code int) {
			t.Helper()
			bin, data := t.TempDir(), t.TempDir()
			for name, text := range map[string]string{"docker-entrypoint.sh": `echo started: "$@"`, "hostname": "echo postgres-2"} {
				put(t, filepath.Join(bin, name), "#!/bin/sh\n"+text+"\n")
			}
			for _, f := range files {
				put(t, filepath.Join(data, f), "15\n")
			}
			cmd := exec.CommandContext(t.Context(), "sh", folder+"role.sh", "postgres")
			cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PGDATA=" + data, "PRIMARY=" + primary}
			text, _ := cmd.CombinedOutput()
			return string(text), cmd.ProcessState.ExitCode()
		}
		if out, code := role(t, "postgres-2", "PG_VERSION"); code != 0 || out != "started: postgres\n" {
			t.Errorf("primary: exit code %d, %s", code, out)
		}
		if out, code := role(t, "postgres-1", "PG_VERSION", "standby.signal"); code != 0 || out != "started: postgres -c cluster_name=standby\n" {
			t.Errorf("standby: exit code %d, %s", code, out)
		}
		const refusal = "postgres-2 has the data of a primary, but postgres-1 is the primary"
		if out, code := role(t, "postgres-1", "PG_VERSION"); code != 1 || !strings.Contains(out, refusal) {
			t.Errorf("former primary: exit code %d, %s", code, out)
		}
	})
}
