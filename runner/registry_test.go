package runner

import (
	"strings"
	"testing"
)

func TestEveryKindMatchesItsEntry(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			if found, ok := FindKind(k.Name); !ok || found.Name != k.Name {
				t.Errorf("FindKind(%q) = %q, %v", k.Name, found.Name, ok)
			}
			if (k.New == nil) != (k.Place == Worker) {
				t.Fatal("only the runners of a worker have no constructor")
			}
			if k.New == nil {
				return
			}
			r := k.New(Settings{Name: "test", Argv: []string{"no-such-program-at-all"}, NoProvider: "no provider"})
			if p := r.Probe(t.Context()); p.Kind != k.Name || p.Installed || p.Problem == "" || p.Tools != k.Capabilities.Tools {
				t.Errorf("got the probe %+v", p)
			}
			if got := IsRemote(r); got != (k.Place != Here) {
				t.Errorf("got IsRemote = %v", got)
			}
		})
	}
	for _, name := range []string{"claude", "codex", "acp", "command"} {
		kind, _ := FindKind(name)
		if why := kind.Missing(Settings{Argv: []string{"no-such-program-at-all"}}); !strings.Contains(why, "no-such-program-at-all") {
			t.Errorf("%s: got the reason %q", name, why)
		}
	}
	if _, ok := FindKind("no-such-kind"); ok {
		t.Error("an unknown kind was found")
	}
}
