package config

import (
	"reflect"
	"strings"
	"testing"
)

const printed = `
public_url = "https://tasks.example.org"
[runs]
timeout = "90m"
[providers.b]
api = "anthropic"
[providers.a]
api = "openai"
price_per_mtok = { "gpt-4.1" = [2, 8.5], "gpt-5" = [1.25, 10, 0.125] }
[runners.coder]
kind = "command"
command = ["sh", "-c", "echo \"hi\""]
env = { LANG = "C" }
`

func TestPrint(t *testing.T) {
	t.Parallel()
	show := func(t *testing.T, text string, environ []string) (*Config, string) {
		t.Helper()
		c, sources := mustLoad(t, text, environ, nil)
		var b strings.Builder
		if err := c.Print(&b, sources); err != nil {
			t.Fatal(err)
		}
		return c, b.String()
	}
	t.Run("the output is read as the same configuration", func(t *testing.T) {
		c, out := show(t, printed, nil)
		back, _ := mustLoad(t, out, nil, nil)
		back.file = c.file
		c.sources, c.opts, back.sources, back.opts = nil, LoadOptions{}, nil, LoadOptions{} // they differ by file
		if !reflect.DeepEqual(c, back) {
			t.Errorf("%+v\n%+v\n%s", c, back, out)
		}
	})
	t.Run("each line says where its value came from", func(t *testing.T) {
		_, out := show(t, printed, []string{"TASKYARD_LOG_LEVEL=warn"})
		for start, end := range map[string]string{
			`listen = "127.0.0.1:8080"`: "# default",
			`level = "warn"`:            "# TASKYARD_LOG_LEVEL",
			`timeout = "1h30m"`:         "test.toml:4",
		} {
			if !hasLine(out, start, end) {
				t.Errorf("there is no line %s … %s in\n%s", start, end, out)
			}
		}
	})
	t.Run("sections are in order", func(t *testing.T) {
		_, out := show(t, printed, nil)
		if a, b := strings.Index(out, "[providers.a]"), strings.Index(out, "[providers.b]"); a < 0 || b < a {
			t.Error(out)
		}
	})
	t.Run("values that look like secrets are hidden", func(t *testing.T) {
		_, out := show(t, "[runners.x]\nkind = \"builtin\"\nenv = { MY_API_KEY = \"s3cret\", "+
			"github_token = \"s3cret\", DB_PASSWORD = \"s3cret\", LANG = \"C\" }\n", nil)
		if strings.Contains(out, "s3cret") || strings.Count(out, `"***"`) != 3 || !strings.Contains(out, `"LANG" = "C"`) {
			t.Error(out)
		}
	})
}

func hasLine(text, start, end string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) && strings.HasSuffix(strings.TrimSpace(line), end) {
			return true
		}
	}
	return false
}
