package config

import (
	"fmt"
	"strings"
	"testing"
)

const twoRunners = `[providers.a]
api = "openai"
models = ["small"]
[runners.x]
kind = "command"
command = ["one"]
env = {API_KEY = "hunter2"}
[runners.y]
kind = "claude"
`

func TestATakeoverOfRunners(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, after string
		changed, restart    string
	}{
		{"nothing", twoRunners, twoRunners, "[]", "[]"},
		{
			"an additional runner", twoRunners, twoRunners + "[runners.z]\nkind = \"worker\"\nlabels = [\"gpu\"]\n",
			"[{runners.z.kind  worker} {runners.z.labels  [\"gpu\"]}]", "[]",
		},
		{
			"a removed runner", twoRunners, strings.ReplaceAll(twoRunners, "[runners.y]\nkind = \"claude\"\n", ""),
			"[{runners.y.kind claude }]", "[]",
		},
		{
			"a changed provider", twoRunners, strings.ReplaceAll(twoRunners, "small", "big"),
			`[{providers.a.models ["small"] ["big"]}]`, "[]",
		},
		{
			"a changed secret of the same name", twoRunners, strings.ReplaceAll(twoRunners, "hunter2", "swordfish"),
			`[{runners.x.env {"API_KEY" = "***"} {"API_KEY" = "***"}}]`, "[]",
		},
		{
			"a changed argument", twoRunners, strings.ReplaceAll(twoRunners, `["one"]`, `["one", "--key=hunter3"]`),
			`[{runners.x.command ["one"] ["one", "***"]}]`, "[]",
		},
		{
			"a changed address", "[runners.h]\nkind = \"webhook\"\nsecret_env = \"S\"\nurl = \"https://a.example/hunter2\"\n",
			"[runners.h]\nkind = \"webhook\"\nsecret_env = \"S\"\nurl = \"https://b.example/?key=hunter2\"\n",
			"[{runners.h.url https://a.example/*** https://b.example/***}]", "[]",
		},
		{
			"a changed data folder, against which the folders of runners were not checked", "data = \"/srv/a\"\n" + twoRunners,
			"data = \"/srv/b\"\n" + strings.ReplaceAll(twoRunners, "one", "two"), "[]", "[data runners.x.command]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := mustLoad(t, tt.before, nil, nil)
			next, _ := mustLoad(t, tt.after, nil, nil)
			was := fmt.Sprint(c.Runners, c.Providers)
			m, changed, restart := c.Takeover(next)
			if got := fmt.Sprint(changed); got != tt.changed {
				t.Errorf("got changed %s, want %s", got, tt.changed)
			}
			if got := fmt.Sprint(restart); got != tt.restart {
				t.Errorf("got %s as needing a restart, want %s", got, tt.restart)
			}
			want := fmt.Sprint(next.Runners, next.Providers)
			if tt.restart != "[]" {
				want = was
			}
			if got := fmt.Sprint(m.Runners, m.Providers); got != want {
				t.Errorf("got runners %s, want %s", got, want)
			}
			if got := fmt.Sprint(c.Runners, c.Providers); got != was {
				t.Errorf("the former runners are now %s, want %s", got, was)
			}
			if _, again, _ := m.Takeover(next); len(again) > 0 {
				t.Errorf("a second takeover changed %v", again)
			}
		})
	}
	t.Run("a runner that the program itself set is kept, as in the demo", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, twoRunners, nil, nil)
		c.Runners["y"] = Runner{Kind: "command", Command: []string{"demo"}}
		next, _ := mustLoad(t, strings.ReplaceAll(twoRunners, "one", "two"), nil, nil)
		if m, _, _ := c.Takeover(next); m.Runners["x"].Command[0] != "two" || m.Runners["y"].Kind != "command" {
			t.Errorf("%+v", m.Runners)
		}
	})
	t.Run("an edit of a runner names the file", func(t *testing.T) {
		t.Parallel()
		c, _ := mustLoad(t, twoRunners, nil, nil)
		_, err := c.Edit(map[string]*string{"runners.x.kind": new("acp")})
		if err == nil || !strings.Contains(err.Error(), "is changed only in the configuration file: edit it, then send SIGHUP") {
			t.Error(err)
		}
	})
}
