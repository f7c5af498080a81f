package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskyard/internal/client"
	"taskyard/internal/testkit"
	"taskyard/task"
)

func TestDefinitionsAreCheckedWithoutAServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := put(t, filepath.Join(dir, name), text)
		return path
	}
	good := file("good.md", "---\ndescription: reads\ntools: Read\n---\nRead.\n")
	odd := file("odd.md", "---\ndescription: reads\ntools: Read, Teleport\n---\nRead.\n")
	bad := file("bad.md", "---\ndescription: runs\ntools: Read\nmax_turns: many\n---\nRun.\n")
	runner := file("runner.md", "---\ndescription: runs\ntools: Read\nrunner: mine\n---\nRun.\n")
	check := func(args ...string) (string, int) {
		out, errs, code := do(t, "", append([]string{"agent", "check", "--data", dir}, args...)...)
		if code == exitUsage {
			t.Log(errs)
		}
		return out, code
	}
	t.Run("a valid file has a check mark, and the exit code is 0", func(t *testing.T) {
		if out, code := check(good); code != exitOK || !strings.HasPrefix(out, "✓ "+good+": valid\n") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("a warning names line, reason and hint, and the exit code is 0", func(t *testing.T) {
		out, code := check(odd)
		if code != exitOK || !strings.HasPrefix(out, "⚠ ") || !strings.Contains(out, "⚠ line 3: ") || !strings.Contains(out, "Teleport") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("with one invalid file of several, the exit code is 1", func(t *testing.T) {
		out, code := check(good, bad)
		if code != exitRefused || !strings.Contains(out, "✓ "+good) || !strings.Contains(out, "✗ "+bad) || !strings.Contains(out, "✗ line 4: ") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("runners are read from the data folder", func(t *testing.T) {
		if out, code := check(runner); code != exitRefused || !strings.Contains(out, "mine") {
			t.Errorf("%d %s", code, out)
		}
		if err := os.WriteFile(filepath.Join(dir, "taskyard.toml"),
			[]byte("[runners.mine]\nkind = \"command\"\ncommand = [\"true\"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := check(runner); code != exitOK {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("it shows what the agent is, and what it may do with its runner", func(t *testing.T) {
		full := file("full.md", "---\ndescription: Runs it all\ntools: Read, Bash(git:*), Task\nrunner: mine\nmodel: "+
			"opus\nmodels: {low: haiku}\nmax_turns: 7\nmax_tokens: 900\nmax_cost_usd_per_day: 2\ntimeout: 90s\n---\nRun.\n")
		out, code := check(full)
		if code != exitOK {
			t.Errorf("%d", code)
		}
		for _, want := range []string{
			"agent          full", "what           Runs it all", "tools          read task",
			"beyond them    It starts a program, which receives the list of tools",
			"never granted  Bash(git:*)", "runner         mine, of kind command", "model          opus, low: haiku",
			"limits         1m30s, 2m without progress, 7 turns, 900 tokens, 1 at a time", "per day        $2.00", "may use        tasks",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
		if out, _ := check("-q", full); strings.Contains(out, "limits") || !strings.HasPrefix(out, "⚠ ") {
			t.Errorf("with -q, got %s", out)
		}
	})
	t.Run("a file in the folder of an instance is checked with its configuration", func(t *testing.T) {
		testkit.NoError(t, os.Mkdir(filepath.Join(dir, "agents"), 0o700))
		inside := file("agents/inside.md", "---\ndescription: runs\ntools: Read\nrunner: mine\n---\nRun.\n")
		if out, _, code := do(t, "", "agent", "check", inside); code != exitOK || !strings.HasPrefix(out, "✓ ") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("without an instance, runners are not checked, which is not an error", func(t *testing.T) {
		other := put(t, filepath.Join(t.TempDir(), "other.md"), "---\ndescription: runs\ntools: Read\nrunner: mine\n---\nRun.\n")
		out, _, code := do(t, "", "agent", "check", other)
		if code != exitOK || !strings.Contains(out, `⚠ line 4: the runner "mine" was not checked: no configuration was found`) ||
			!strings.Contains(out, "mine (not checked)") || !strings.Contains(out, "--data ./data") {
			t.Errorf("%d %s", code, out)
		}
	})
	t.Run("--json prints one document", func(t *testing.T) {
		out, code := check("--json", good, bad)
		var doc struct {
			Agents []struct {
				task.Agent
				TimeoutSeconds int
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != client.ExitRefused ||
			len(doc.Agents) != 2 || doc.Agents[1].Problems[0].Line != 4 || !doc.Agents[0].PullOnly ||
			doc.Agents[0].TimeoutSeconds != 300 || doc.Agents[0].Tools[0] != "read" {
			t.Errorf("%d %v %s", code, err, out)
		}
	})
	t.Run("a missing file is a usage error", func(t *testing.T) {
		if _, code := check(good + "x"); code != exitUsage {
			t.Errorf("%d", code)
		}
	})
}

func TestTheCheckWarnsAboutReviewersWhoCannotVote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "", "token", "create", "--data", dir, "--scope", "admin")
	text := "---\ndescription: reads\ntools: Read\nrunner: none\nreview: {from: [reviewer, myra]}\n---\nRead.\n"
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, "agents", "reader.md"), []byte(text), 0o600))
	said := must(t, "", "check", "--data", dir)
	if !strings.Contains(said, "agent reader: warning: review.from[1]: no reviewer or admin is called myra") ||
		!strings.Contains(said, "0 invalid") {
		t.Errorf("got %s", said)
	}
}
