package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// load reads the text as a configuration file, with variables and flags
// ("NAME=value", "flag=value").
func load(t *testing.T, text string, environ []string, flags map[string]string) (*Config, Sources, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, sources, err := Load(LoadOptions{File: path, Environ: environ, Flags: flags})
	if err != nil {
		err = shortened{strings.ReplaceAll(err.Error(), path, "test.toml")}
	}
	return c, sources, err
}

type shortened struct{ text string }

func (s shortened) Error() string { return s.text }

func mustLoad(t *testing.T, text string, environ []string, flags map[string]string) (*Config, Sources) {
	t.Helper()
	c, sources, err := load(t, text, environ, flags)
	if err != nil {
		t.Fatal(err)
	}
	return c, sources
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, sources := mustLoad(t, "", nil, nil)
	checks := map[string]bool{
		"listen is on loopback":           c.Listen == "127.0.0.1:8080",
		"data is ./data":                  c.Data == "./data",
		"ticks are hourly during the day": c.Scheduler.Cron == "0 6-21 * * *" && c.Scheduler.Enabled,
		"the zone is local":               c.Scheduler.Timezone == "Local",
		"one run of a tick at a time":     c.Scheduler.Concurrency == 1 && c.Scheduler.WakeBudgetPerHour == 12,
		"runs are bounded": c.Runs.MaxParallel == 4 && c.Runs.Timeout == 5*time.Minute &&
			c.Runs.IdleTimeout == 2*time.Minute && c.Runs.Attempts == 3,
		"transcripts are kept 90 days":      c.Runs.KeepTranscripts == 90*24*time.Hour,
		"claims hold two hours":             c.Claims.Lease == 2*time.Hour,
		"delegated runs wait for people":    c.Approval.Policy == "delegated" && c.Approval.Expires == 24*time.Hour,
		"the task tool has its seven lines": c.TaskTool == TaskTool{true, 2, 300, 50000, false, true, 60},
		"seven backups are kept":            c.Backup.Cron == "30 3 * * *" && c.Backup.Keep == 7,
		"sources say default":               sources["runs.timeout"] == "default",
	}
	for name, ok := range checks {
		t.Run(name, func(t *testing.T) {
			if !ok {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestLaterLayersWin(t *testing.T) {
	t.Parallel()
	const file = "listen = \"127.0.0.1:1\"\n[runs]\nmax_parallel = 2\nattempts = 2\ntimeout = \"2s\"\n"
	environ := []string{"TASKYARD_RUNS_MAX_PARALLEL=5", "TASKYARD_RUNS_ATTEMPTS=5", "HOME=/x"}
	flags := map[string]string{"runs.attempts": "7"}
	c, sources := mustLoad(t, file, environ, flags)

	t.Run("the file overrides the default", func(t *testing.T) {
		if c.Runs.Timeout != 2*time.Second || !strings.HasSuffix(sources["runs.timeout"], "test.toml:5") {
			t.Errorf("%v from %s", c.Runs.Timeout, sources["runs.timeout"])
		}
	})
	t.Run("a variable overrides the file", func(t *testing.T) {
		if c.Runs.MaxParallel != 5 || sources["runs.max_parallel"] != "TASKYARD_RUNS_MAX_PARALLEL" {
			t.Errorf("%v from %s", c.Runs.MaxParallel, sources["runs.max_parallel"])
		}
	})
	t.Run("a flag overrides the variable", func(t *testing.T) {
		if c.Runs.Attempts != 7 || sources["runs.attempts"] != "flag --set runs.attempts" {
			t.Errorf("%v from %s", c.Runs.Attempts, sources["runs.attempts"])
		}
	})
}

func TestTheFileIsInTheDataFolderOrNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(t *testing.T, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "log_level = \"debug\"\n")
	t.Run("the file is found in the data folder of the flag", func(t *testing.T) {
		c, _, err := Load(LoadOptions{Flags: map[string]string{"data": folder}})
		if err != nil || c.Log.Level != "debug" || c.Data != folder {
			t.Errorf("%+v %v", c, err)
		}
	})
	t.Run("the file is found in the data folder of the variable", func(t *testing.T) {
		c, _, err := Load(LoadOptions{Environ: []string{"TASKYARD_DATA=" + folder}})
		if err != nil || c.Log.Level != "debug" {
			t.Errorf("%+v %v", c, err)
		}
	})
	t.Run("a data folder without a file is fine", func(t *testing.T) {
		if _, _, err := Load(LoadOptions{Flags: map[string]string{"data": t.TempDir()}}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a named file must exist", func(t *testing.T) {
		if _, _, err := Load(LoadOptions{File: filepath.Join(folder, "none.toml")}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a file in the data folder cannot name another data folder", func(t *testing.T) {
		write(t, "data = \"/elsewhere\"\n")
		_, _, err := Load(LoadOptions{Flags: map[string]string{"data": folder}})
		if err == nil || !strings.Contains(err.Error(), FileName+":1: data:") {
			t.Error(err)
		}
	})
}

func TestSections(t *testing.T) {
	t.Parallel()
	const file = `
[providers.local]
api = "openai"
base_url = "http://127.0.0.1:11434/v1"
api_key_env = ""
models = ["llama3.1:8b", "gpt-4.1"]
default_model = "gpt-4.1"
price_per_mtok = { "gpt-4.1" = [2, 8.5] }

[runners.coder]
kind = "command"
command = ["python3", "agent.py"]
accept_weaker = true
network = true
[runners.coder.env]
"LANG" = "C"
`
	c, _ := mustLoad(t, file, []string{
		"TASKYARD_RUNNERS_CODER_WORKSPACE=/w",
		`TASKYARD_RUNNERS_CODER_COMMAND=["a,b", "c"]`, "TASKYARD_RUNNERS_OTHER_KIND=builtin",
	}, nil)
	t.Run("providers are read", func(t *testing.T) {
		p := c.Providers["local"]
		if p.API != "openai" || p.DefaultModel != "gpt-4.1" || len(p.Models) != 2 || p.PricePerMtok["gpt-4.1"] != (Price{2, 8.5, 2}) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("runners are read", func(t *testing.T) {
		r := c.Runners["coder"]
		if r.Kind != "command" || !r.AcceptWeaker || !r.Network || r.Env["LANG"] != "C" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("variables change a section", func(t *testing.T) {
		if r := c.Runners["coder"]; r.Workspace != "/w" || len(r.Command) != 2 || r.Command[0] != "a,b" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("variables create a section", func(t *testing.T) {
		if c.Runners["other"].Kind != "builtin" {
			t.Errorf("%+v", c.Runners)
		}
	})
}

func TestVariablesOfClientsAreIgnored(t *testing.T) {
	t.Parallel()
	var environ []string
	for _, name := range ClientVariables {
		environ = append(environ, name+"=x")
	}
	mustLoad(t, "", environ, nil)
}
