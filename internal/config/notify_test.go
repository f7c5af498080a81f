package config

import (
	"slices"
	"strings"
	"testing"
)

const publicURL = "public_url = \"https://tasks.example\"\n"

func TestNotifySections(t *testing.T) {
	t.Parallel()
	environ := []string{"TASKYARD_NOTIFY_OPS=ntfy://u:hunter2@host/topic"}
	text := publicURL + "[notify.ops]\nurl_env = \"TASKYARD_NOTIFY_OPS\"\n[notify.night]\nurl_env " +
		"= \"NIGHT\"\nkinds = [\"failure\", \"notice\"]\n"
	c, src, err := load(t, text, environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Notify["ops"].Kinds; !slices.Equal(got, []string{"question", "approval", "failure", "blocked"}) ||
		src["notify.ops.kinds"] != "default" {
		t.Errorf("kinds %v from %s", got, src["notify.ops.kinds"])
	}
	if n := c.Notify["night"]; n.URLEnv != "NIGHT" || !slices.Equal(n.Kinds, []string{"failure", "notice"}) {
		t.Errorf("%+v", n)
	}
	t.Run("the address is not printed", func(t *testing.T) {
		var b strings.Builder
		if err := c.Print(&b, src); err != nil || strings.Contains(b.String(), "hunter2") || !strings.Contains(b.String(), "[notify.ops]") {
			t.Errorf("%v\n%s", err, b.String())
		}
	})
	t.Run("all of it may come from variables", func(t *testing.T) {
		c, _, err := load(t, "", append(environ, "TASKYARD_PUBLIC_URL=https://tasks.example",
			"TASKYARD_NOTIFY_OPS_URL_ENV=TASKYARD_NOTIFY_OPS", "TASKYARD_NOTIFY_OPS_KINDS=question,notice"), nil)
		if err != nil || !slices.Equal(c.Notify["ops"].Kinds, []string{"question", "notice"}) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func TestInvalidNotifySectionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"without a variable", publicURL + "[notify.ops]\n", "test.toml:2: notify.ops.url_env: is missing: name the variable"},
		{
			"with the address itself", publicURL + "[notify.ops]\nurl_env = \"ntfy://host/x\"\n",
			"test.toml:3: notify.ops.url_env: is not the name of a variable",
		},
		{
			"with an unknown kind", publicURL + "[notify.ops]\nurl_env = \"OPS\"\nkinds = [\"gossip\"]\n",
			`test.toml:4: notify.ops.kinds: "gossip" is not valid: valid values are question, approval, failure, blocked, notice`,
		},
		{"with no kind", publicURL + "[notify.ops]\nurl_env = \"OPS\"\nkinds = []\n", "test.toml:4: notify.ops.kinds: must not be empty"},
		{"without the public URL of the server", "[notify.ops]\nurl_env = \"OPS\"\n", "test.toml:1: notify.ops: needs public_url"},
		{
			"with an unknown key", publicURL + "[notify.ops]\nurl = \"x\"\n",
			`unknown key "notify.ops.url": valid in [notify.ops] are url_env, kinds`,
		},
		{"with a bad name", publicURL + "[notify.\"a b\"]\nurl_env = \"OPS\"\n", "is not a valid name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := load(t, tt.text, nil, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
	t.Run("a variable that is not named", func(t *testing.T) {
		if _, _, err := load(t, "", []string{"TASKYARD_NOTIFY_OPS=x"}, nil); err == nil ||
			!strings.Contains(err.Error(), "TASKYARD_NOTIFY_OPS: unknown variable") {
			t.Error(err)
		}
	})
}
