package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusedInFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"broken TOML names its line", "\nlisten = \n", []string{"test.toml:2:"}},
		{
			"an unknown key names its line and the valid keys", "[scheduler]\n# x\ncrn = \"\"\n",
			[]string{`test.toml:3: unknown key "scheduler.crn": valid in [scheduler] are enabled, cron, timezone`},
		},
		{
			"an unknown section names the sections", "[sheduler]\ncron = \"\"\n",
			[]string{`test.toml:1: unknown key "sheduler": valid keys are listen,`, "[scheduler]"},
		},
		{
			"an unknown key of a runner names the keys of runners", "[runners.a]\nkind = \"builtin\"\nargs = []\n",
			[]string{`test.toml:3: unknown key "runners.a.args": valid in [runners.a] are kind, command, env`},
		},
		{"a key in another case is unknown", "Listen = \"\"\n", []string{`unknown key "Listen"`}},
		{"a section written as a value", "runs = 3\n", []string{"test.toml:1: runs: is a section: write [runs]"}},
		{"every error is reported", "listen = 3\nlog_level = \"loud\"\n", []string{
			"test.toml:1: listen: 3 is not text",
			`test.toml:2: log.level: "loud" is not valid: valid values are debug, info, warn, error`,
		}},
		{
			"a number as text", "[runs]\nattempts = \"3\"\n",
			[]string{`test.toml:2: runs.attempts: "3" is not valid: give a whole number from 1 to 10`},
		},
		{
			"a negative number of failures", "[runs]\nequal_failures = -1\n",
			[]string{"test.toml:2: runs.equal_failures: -1 is not valid: give a whole number from 0 to 100"},
		},
		{
			"no attempt with failed checks", "[runs]\nmax_check_attempts = 0\n",
			[]string{"test.toml:2: runs.max_check_attempts: 0 is not valid: give a whole number from 1 to 20"},
		},
		{"a number out of range", "[backup]\nkeep = 0\n", []string{"0 is not valid: give a whole number from 1 to 1000"}},
		{"a fraction", "[backup]\nkeep = 1.5\n", []string{"1.5 is not valid: give a whole number"}},
		{
			"a negative budget", "[budget]\nmax_cost_usd_per_day = -1\n",
			[]string{"test.toml:2: budget.max_cost_usd_per_day: -1 is not valid: give an amount in US dollars from 0"},
		},
		{"a budget as text", "[budget]\nmax_cost_usd_per_day = \"5\"\n", []string{"give an amount in US dollars"}},
		{"a fraction of tokens", "[budget]\nmax_tokens_per_day = 0.5\n", []string{"give a whole number from 0"}},
		{"a bool as text", "[task_tool]\nenabled = \"yes\"\n", []string{"valid values are true, false"}},
		{"a duration without a unit", "[runs]\ntimeout = 300\n", []string{`300 is not valid: give a duration from 1s to 24h such as "90s"`}},
		{"a duration out of range", "[claims]\nlease = \"1s\"\n", []string{"give a duration from 1m to 720h"}},
		{"a negative duration", "[claims]\nlease = \"-2h\"\n", []string{"claims.lease"}},
		{"listen without port", "listen = \"localhost\"\n", []string{`give host:port such as "127.0.0.1:8080"`}},
		{"listen with a port too high", "listen = \":70000\"\n", []string{"give host:port"}},
		{"an empty data folder", "data = \" \"\n", []string{"data: must not be empty"}},
		{
			"a certificate without its key", "public_url = \"https://a.example\"\n[tls]\ncert = \"c\"\n",
			[]string{"test.toml:3: tls.cert: give cert and key"},
		},
		{"a certificate without an address", "[tls]\ncert = \"c\"\nkey = \"k\"\n", []string{"test.toml:2: tls.cert: needs public_url"}},
		{"two sources of certificates", "[tls]\ncert = \"c\"\nkey = \"k\"\nacme = \"a@b.c\"\n", []string{"either acme"}},
		{"ACME for an address", "public_url = \"https://10.0.0.1\"\n[tls]\nacme = \"a@b.c\"\n", []string{"needs a name"}},
		{"ACME without a mail address", "[tls]\nacme = \"yes\"\n", []string{"not a mail address"}},
		{"a redirect without TLS", "[tls]\nredirect = \":80\"\n", []string{"needs cert and key"}},
		{"a public URL with a trailing slash", "public_url = \"https://a.example/x/\"\n", []string{"more than a host and a path"}},
		{"a public URL with dots", "public_url = \"https://a.example/../x\"\n", []string{"more than a host and a path"}},
		{"a public URL with a query", "public_url = \"https://a.example/x?y\"\n", []string{"more than a host and a path"}},
		{"a public URL without a scheme", "public_url = \"a.example\"\n", []string{"is not a URL"}},
		{"a proxy that is not an address", "trusted_proxies = [\"proxy\"]\n", []string{`give one such as "10.0.0.1" or "10.0.0.0/8"`}},
		{"a host with a scheme", "allowed_hosts = [\"https://a\"]\n", []string{"is not a host name"}},
		{"a text instead of a list", "allowed_hosts = \"a\"\n", []string{"is not a list"}},
		{"a list of numbers", "allowed_hosts = [1]\n", []string{"1 in the list is not text"}},
		{"cron with six fields", "[scheduler]\ncron = \"0 0 6 * * *\"\n", []string{"test.toml:2: scheduler.cron:", "give five fields"}},
		{"cron as a word", "[backup]\ncron = \"@daily\"\n", []string{"give five fields"}},
		{"cron that never fires", "[backup]\ncron = \"0 0 30 2 *\"\n", []string{"never fires"}},
		{"cron with a time zone", "[backup]\ncron = \"TZ=0\"\n", []string{"set the time zone in scheduler.timezone"}},
		{"an unknown time zone", "[scheduler]\ntimezone = \"Mars\"\n", []string{`give one such as "Local", "UTC" or "Europe/Berlin"`}},
		{"an empty time zone", "[scheduler]\ntimezone = \"\"\n", []string{"is not a time zone"}},
		{"an unknown policy", "[approval]\npolicy = \"maybe\"\n", []string{"valid values are always, delegated, never"}},
		{"a provider of an unknown api", "[providers.x]\napi = \"gpt\"\n", []string{"valid values are openai, anthropic"}},
		{"a provider without api", "[providers.x]\n", []string{"test.toml:1: providers.x.api: is missing"}},
		{
			"a default model that is not among the models", "[providers.x]\napi = \"openai\"\nmodels = [\"a\"]\ndefault_model = \"b\"\n",
			[]string{`test.toml:4: providers.x.default_model: "b" is not among models: valid values are a`},
		},
		{
			"a base URL with a password", "[providers.x]\napi = \"openai\"\nbase_url = \"http://u:hunter2@h/\"\n",
			[]string{"must not contain a user or password"},
		},
		{
			"a price that is one number", "[providers.x]\napi = \"openai\"\nprice_per_mtok = { a = 1 }\n",
			[]string{`the price of "a" is not two or three numbers`},
		},
		{"a negative price", "[providers.x]\napi = \"openai\"\nprice_per_mtok = { a = [-1, 2] }\n", []string{"give numbers from 0"}},
		{
			"an unknown runner kind", "[runners.x]\nkind = \"shell\"\n",
			[]string{"valid values are command, builtin, claude, codex, acp, webhook, worker"},
		},
		{"a runner without a kind", "\n[runners.x]\nworkspace = \"/w\"\n", []string{"test.toml:2: runners.x.kind: is missing"}},
		{
			"a command runner without a command", "[runners.x]\nkind = \"command\"\n",
			[]string{"test.toml:1: runners.x.command: is missing: a runner of kind command needs it"},
		},
		{"an empty command", "[runners.x]\nkind = \"codex\"\ncommand = []\n", []string{"test.toml:3: runners.x.command: must not be empty"}},
		{
			"a confinement that is neither on nor off", "[runners.x]\nkind = \"claude\"\nconfine = \"some\"\n",
			[]string{"test.toml:3: runners.x.confine"},
		},
		{
			"a writable folder that is not absolute", "[runners.x]\nkind = \"claude\"\nwritable = [\"cache\"]\n",
			[]string{"test.toml:3: runners.x.writable", "absolute"},
		},
		{
			"a network that is neither on nor off", "[runners.x]\nkind = \"codex\"\nnetwork = \"some\"\n",
			[]string{"test.toml:3: runners.x.network"},
		},
		{"an ACP runner without a command", "[runners.x]\nkind = \"acp\"\n", []string{"runners.x.command: is missing"}},
		{
			"a webhook runner without a secret", "[runners.x]\nkind = \"webhook\"\nurl = \"https://example.org\"\n",
			[]string{"runners.x.secret_env: is missing"},
		},
		{
			"a workspace that is not an absolute path", "[runners.x]\nkind = \"builtin\"\nworkspace = \"src\"\n",
			[]string{"test.toml:3: runners.x.workspace", "absolute path of a folder"},
		},
		{"a worktree without a repository", "[runners.x]\nkind = \"builtin\"\nworkspace = \"worktree\"\n", []string{"worktree:/srv/repository"}},
		{"a label with a space", "[runners.x]\nkind = \"worker\"\nlabels = [\"a b\"]\n", []string{"is not a label"}},
		{"a webhook runner without a URL", "[runners.x]\nkind = \"webhook\"\n", []string{"runners.x.url: is missing"}},
		{
			"a runner with a missing provider", "[runners.x]\nkind = \"builtin\"\nprovider = \"y\"\n",
			[]string{"there is no [providers.y]"},
		},
		{"a runner with the name none", "[runners.none]\nkind = \"builtin\"\n", []string{"the name none is taken"}},
		{
			"a runner with a bad name", "[runners.\"a b\"]\nkind = \"builtin\"\n",
			[]string{`test.toml:1: [runners.a b]: "a b" is not a valid name`},
		},
		{"an env value that is not text", "[runners.x]\nkind = \"builtin\"\nenv = { A = 1 }\n", []string{"the value of A is not text"}},
		{"an env name with a space", "[runners.x]\nkind = \"builtin\"\nenv = { \"A B\" = \"\" }\n", []string{"is not the name of a variable"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := load(t, tt.text, nil, nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got:\n%v\nwant: %s", err, want)
				}
			}
		})
	}
}

func TestRefusedInVariablesAndFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		environ []string
		flags   map[string]string
		want    string
	}{
		{"an unknown variable", []string{"TASKYARD_SCHEDULER_CRN=x"}, nil, "TASKYARD_SCHEDULER_CRN: unknown variable"},
		{"a variable with lower-case letters", []string{"TASKYARD_RUNNERS_a_KIND=builtin"}, nil, "unknown variable"},
		{
			"a bad value of a variable",
			[]string{"TASKYARD_RUNS_ATTEMPTS=many"},
			nil,
			`TASKYARD_RUNS_ATTEMPTS: runs.attempts: "many" is not valid: give a whole number from 1 to 10`,
		},
		{"an invalid bool", []string{"TASKYARD_SCHEDULER_ENABLED=1"}, nil, "valid values are true, false"},
		{"a table in a variable", []string{"TASKYARD_RUNNERS_X_ENV=A=B"}, nil, "runners.x.env can only be set in the file"},
		{"a command in a variable", []string{"TASKYARD_BACKUP_AFTER=rclone"}, nil, "backup.after can only be set in the file"},
		{"a rule about several keys names the variable", []string{"TASKYARD_RUNNERS_NONE_KIND=builtin"}, nil, "the name none is taken"},
		{
			"an unknown flag", nil,
			map[string]string{"runs.atempts": "1"},
			`flag --set runs.atempts: unknown key "runs.atempts": valid in [runs] are max_parallel`,
		},
		{"a bad value of a flag", nil, map[string]string{"listen": "x"}, "flag --listen: listen:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := load(t, "", tt.environ, tt.flags)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got: %v\nwant: %s", err, tt.want)
			}
		})
	}
}

func TestAKeyInPlaceOfAVariableNameIsNotShown(t *testing.T) {
	t.Parallel()
	_, _, err := load(t, "[providers.x]\napi = \"openai\"\napi_key_env = \"sk-proj-abc\"\n", nil, nil)
	if err == nil || strings.Contains(err.Error(), "sk-proj") ||
		!strings.Contains(err.Error(), "test.toml:3: providers.x.api_key_env: is not the name of a variable") {
		t.Error(err)
	}
}

func TestLinesAreFound(t *testing.T) {
	t.Parallel()
	const text = "a = '''\nlog_level = 1\n'''\n  log_level = 2\n[ x . \"y\" ] # c\n'k' . z = 1\n[x]\nlist = [\n  \"k = 1\",\n]\n"
	lines := scanLines(text)
	for name, want := range map[string]int{"a": 1, "log_level": 4, "x.y": 5, "x.y.k.z": 6, "x": 7, "x.list": 8, "x.list.k": 8, "gone": 1} {
		t.Run(name, func(t *testing.T) {
			if got := lines.line(name); got != want {
				t.Errorf("line %d, want %d", got, want)
			}
		})
	}
}

func TestForbiddenFoldersOfRunnersAreRefused(t *testing.T) {
	t.Parallel()
	refuse := func(workspace, data string) error {
		if workspace == "/" || workspace == "/etc" {
			return errors.New(workspace + " contains " + data)
		}
		return nil
	}
	path := filepath.Join(t.TempDir(), "test.toml")
	text := "[runners.a]\nkind = \"acp\"\ncommand = [\"x\"]\nworkspace = \"/\"\nwritable = [\"/srv\", \"/etc\"]\nenv " +
		"= { HOME = \"/etc\", OTHER = \"/etc\" }\n[runners.b]\nkind = \"worker\"\nworkspace = \"/\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(LoadOptions{File: path, Workspace: refuse, Flags: map[string]string{"data": "/srv/data"}})
	if want := path + ":4: runners.a.workspace: / contains /srv/data\n" + path + ":5: runners.a.writable: /etc contains /srv/data\n" +
		path + ":6: runners.a.env.HOME: /etc contains /srv/data"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
