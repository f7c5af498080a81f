package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheConfigurationFileIsFound changes the working directory, so it is not parallel.
func TestTheConfigurationFileIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	system := put("etc/taskyard.toml", "data = \"/srv/service\"\nlisten = \"127.0.0.1:1\"\n")
	flagged := put("flag.toml", "listen = \"127.0.0.1:2\"\n")
	named := put("named.toml", "listen = \"127.0.0.1:3\"\n")
	put("with/taskyard.toml", "listen = \"127.0.0.1:4\"\n")
	put("without/taskyard.db", "")

	find := func(o LoadOptions) string {
		t.Helper()
		o.System = system
		c, _, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(c.Listen, "127.0.0.1:") + " " + c.Data
	}
	variables := []string{"TASKYARD_CONFIG=" + named, "TASKYARD_DATA=with"}
	tests := []struct {
		name string
		opts LoadOptions
		want string
	}{
		{"--config wins", LoadOptions{File: flagged, Environ: variables}, "2 with"},
		{"then TASKYARD_CONFIG", LoadOptions{Environ: variables}, "3 with"},
		{"then the data folder of --data", LoadOptions{Flags: map[string]string{"data": "with"}}, "4 with"},
		{"or of TASKYARD_DATA", LoadOptions{Environ: variables[1:]}, "4 with"},
		{"then the system's file, which names the data folder of the service", LoadOptions{}, "1 /srv/service"},
		{"a given data folder remains the data folder", LoadOptions{Flags: map[string]string{"data": "without"}}, "1 without"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := find(test.opts); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("without the system's file, settings are written to the data folder", func(t *testing.T) {
		for _, data := range []string{"without", ""} {
			o := LoadOptions{System: filepath.Join(dir, "none", "taskyard.toml"), Flags: map[string]string{}}
			want := filepath.Join("data", FileName)
			if data != "" {
				o.Flags["data"], want = data, filepath.Join(data, FileName)
			}
			if path, own, _ := o.path(); path != want || !own {
				t.Errorf("with --data %q, they are written to %s, want %s", data, path, want)
			}
		}
	})
	t.Run("an instance in ./data takes precedence over the service", func(t *testing.T) {
		put("data/taskyard.db", "")
		if got := find(LoadOptions{}); got != "8080 ./data" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("and its own file is used", func(t *testing.T) {
		put("data/taskyard.toml", "listen = \"127.0.0.1:5\"\n")
		if got := find(LoadOptions{}); got != "5 ./data" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a file that TASKYARD_CONFIG names must exist", func(t *testing.T) {
		_, _, err := Load(LoadOptions{Environ: []string{"TASKYARD_CONFIG=absent.toml"}})
		if err == nil || !strings.Contains(err.Error(), "absent.toml") {
			t.Error(err)
		}
	})
}

func TestForeignVariables(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, variable, want string }{
		{"a typo", "TASKYARD_SCHEDULER_CORN=x", "did you mean TASKYARD_SCHEDULER_CRON?"},
		{"a typo in a variable of clients", "TASKYARD_TOKN=x", "did you mean TASKYARD_TOKEN?"},
		{"a missing section", "TASKYARD_MAX_PARALLEL=4", "did you mean TASKYARD_RUNS_MAX_PARALLEL?"},
		{"something else", "TASKYARD_Q=1", "a key of taskyard.toml in capitals is valid"},
		{"a typo that looks like a port", "TASKYARD_PORTS=1", "unknown variable"},
		{"the host of a service", "TASKYARD_SERVICE_HOST=10.0.0.1", ""},
		{"the port of a service", "TASKYARD_SERVICE_PORT=80", ""},
		{"a named port", "TASKYARD_SERVICE_PORT_HTTP=80", ""},
		{"a link", "TASKYARD_PORT=tcp://10.0.0.1:80", ""},
		{"a link of a port", "TASKYARD_PORT_80_TCP=tcp://10.0.0.1:80", ""},
		{"its parts", "TASKYARD_PORT_80_TCP_ADDR=10.0.0.1", ""},
		{"parts of a service with a longer name", "TASKYARD_WEB_PORT_80_TCP_PROTO=tcp", ""},
		{"the host of a service with a longer name", "TASKYARD_WEB_SERVICE_HOST=10.0.0.1", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := load(t, "", []string{test.variable}, nil)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestUnixAddresses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"unix:/run/taskyard/taskyard.sock", "unix:/tmp/s|0600", "unix:/tmp/s|666"} {
		if err := listenAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"unix:", "unix:relative.sock", "unix:/s|", "unix:/s|rw", "unix:/s|1777", "unix:/s|0999",
		"unix:/" + strings.Repeat("x", 200), "unix:/a\x00b", "/run/s.sock",
	} {
		if err := listenAddress(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
