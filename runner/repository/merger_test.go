//go:build linux

package repository

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskyard/internal/testkit"
	"taskyard/runner/scratch"
	"taskyard/task"
)

// mergerArg makes the test binary a server that merges what a file orders, and
// records its progress, as the service does in its database.
const mergerArg = "__merger"

// progress is what a merger records about an order.
type progress struct {
	Before, After string
	Done          bool
	Code          string
}

func mergerMain(args []string) (exitCode int) {
	if err := mergeAll(context.Background(), args[0], args[1], args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func mergeAll(ctx context.Context, dir, runs string, heads []string) error {
	scratch.Prepare(slog.New(slog.DiscardHandler))
	rs := New(Options{Runs: runs})
	defer func() { _ = rs.Close() }()
	if err := rs.Sweep(ctx); err != nil {
		return err
	}
	var w written
	b, err := os.ReadFile(filepath.Join(dir, "order"))
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	if err != nil {
		return err
	}
	o := task.MergeOrder{
		ID: w.ID, TaskID: w.ID, Repository: w.Repository, Into: "main", Base: w.Base, Head: w.Head, Branch: w.Branch, Patch: w.Patch,
		Method: task.MergeSquash, Message: "Fix it", Author: "coder",
		Checks: []task.Check{{Name: "check", Run: w.Check, Required: true}},
	}
	if len(heads) == 2 {
		return rs.Advance(ctx, o, heads[0], heads[1])
	}
	return mergeOne(ctx, rs, o, filepath.Join(dir, o.ID.String()))
}

// written is an order in a file.
type written struct {
	ID                                           task.ID
	Repository, Branch, Base, Head, Patch, Check string
}

func mergeOne(ctx context.Context, rs *Repositories, o task.MergeOrder, file string) error {
	var p progress
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &p); err != nil {
			return err
		}
	}
	if p.Done {
		return nil
	}
	if p.After != "" {
		done, err := rs.Contains(ctx, o.Repository, o.Into, p.After)
		if err != nil {
			return err
		}
		if !done {
			p = progress{}
		}
	}
	if p.After == "" {
		m, err := rs.Apply(ctx, o)
		if err != nil {
			return err
		}
		p = progress{Before: m.Before, After: m.After, Code: m.Code}
		if err := note(file, p); err != nil {
			return err
		}
	}
	if p.Code == "" {
		if err := rs.Advance(ctx, o, p.Before, p.After); err != nil {
			return err
		}
	}
	p.Done = true
	return note(file, p)
}

func note(file string, p progress) error {
	b, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(file+".next", b, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Rename(file+".next", file)
}

// killsOfOne is how often one merge is killed at most.
const killsOfOne = 8

func TestAKillAtAnyMomentLeavesTheTargetAtAHead(t *testing.T) {
	t.Parallel()
	confined(t)
	kills := testkit.ByForm(8, 40, testkit.Trials())
	s := newSite(t, files{"count.sh": "test $(ls parts | wc -l) -gt 0\n", "parts/0": "0\n", "big.txt": strings.Repeat(long, 2000)})
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	killed, merged, took := 0, 0, time.Second
	for id := task.ID(1); killed < kills; id++ {
		branch := "fix-" + id.String()
		list := files{"parts/" + id.String(): "x\n", "big.txt": strings.Repeat(long, 2000) + id.String() + "\n"}
		for i := range 40 {
			list[fmt.Sprintf("many/%d/f", i)] = id.String() + "\n"
		}
		s.branch(branch, "main", list)
		o := s.order(id, branch)
		b, err := json.Marshal(written{id, s.repo, branch, o.Base, o.Head, o.Patch, "sh count.sh"})
		ok(t, err)
		ok(t, os.WriteFile(filepath.Join(dir, "order"), b, 0o600))
		old := s.git("rev-parse", "main")
		for attempt := 1; ; attempt++ {
			group := random.IntN(2) == 0
			began := time.Now()
			after := time.Duration(random.Int64N(int64(took + took/4)))
			if attempt > killsOfOne {
				after = time.Hour // this merge takes longer than any before: let it end, to update took
			}
			done, said := s.runMerger(dir, group, after)
			if done && said != "" {
				t.Fatalf("the merger failed: %s", said)
			}
			if done {
				took = (3*took + time.Since(began)) / 4
				break
			}
			killed++
			if now := s.git("rev-parse", "main"); now != old && s.git("rev-parse", now+"^") != old {
				t.Fatalf("main is at %s, which is neither old nor new", now)
			}
		}
		merged++
		if s.git("rev-parse", "main^") != old {
			t.Fatalf("main is not at its new head:\n%s", s.git("log", "--oneline", "-3"))
		}
		if status := s.git("status", "--porcelain"); status != "" {
			t.Fatalf("status after merge %d:\n%s", id, status)
		}
		s.nothingLeft()
		if t.Failed() {
			return
		}
		s.git("fsck", "--no-dangling", "--connectivity-only")
	}
	t.Logf("got %d kills, %d merges", killed, merged)
}

// runMerger starts a merger and kills it after a while: either only the merger, or
// with every Git process that it started. It reports whether it ended before that, and
// returns its output.
func (s *site) runMerger(dir string, group bool, after time.Duration) (done bool, said string) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], mergerArg, dir, s.runs)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // where killed processes leave files, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	ok(s.t, err)
	ok(s.t, cmd.Start())
	kill := time.AfterFunc(after, func() {
		if group {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		} else {
			_ = cmd.Process.Kill()
		}
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	kill.Stop() // another process may get its PID
	err = cmd.Wait()
	if state := cmd.ProcessState; state.Sys().(syscall.WaitStatus).Signaled() {
		return false, said
	}
	if err != nil && said == "" {
		said = err.Error()
	}
	return true, said
}

func TestTheTargetPassesItsChecksAfterEveryMerge(t *testing.T) {
	t.Parallel()
	confined(t)
	s := newSite(t, files{"test.sh": "! ls parts | grep -q bad && grep -q shared shared.txt\n", "shared.txt": "shared\n", "parts/0": "0\n"})
	check := task.Check{Name: "test", Run: "sh test.sh"} // as with `--merge-check`
	// Of every ten, one fails its check; all of clash change the same line.
	all, clash, red := 10, 3, 1
	if testkit.Whole() {
		all, clash, red = 50, 11, 5
	}
	var orders []task.MergeOrder
	for i := range all {
		list := files{fmt.Sprintf("parts/%d", i+1): "x\n"}
		switch {
		case i%4 == 1 && i/4 < clash:
			list["shared.txt"] = fmt.Sprintf("shared by %d\n", i)
		case i%10 == 2:
			list[fmt.Sprintf("parts/bad-%d", i)] = "x\n"
		}
		branch := fmt.Sprintf("fix-%d", i+1)
		s.branch(branch, "main", list)
		orders = append(orders, s.order(task.ID(i+1), branch, check))
	}
	found := map[string]int{}
	for _, o := range orders {
		before := s.git("rev-parse", "main")
		m := s.apply(o)
		found[m.Code]++
		if m.Code == "" {
			ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
		} else if s.git("rev-parse", "main") != before {
			t.Fatalf("main moved with %s", m.Code)
		}
		cmd := exec.Command("sh", "test.sh")
		cmd.Dir = s.repo
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("main fails its check after order %d: %v\n%s", o.ID, err, out)
		}
	}
	want := map[string]int{"": all - clash + 1 - red, "merge_conflict": clash - 1, "merge_checks_failed": red}
	same(t, "merges", fmt.Sprint(found), fmt.Sprint(want))
	same(t, "status", s.git("status", "--porcelain"), "")
	same(t, "files", fmt.Sprint(len(strings.Fields(s.git("ls-tree", "--name-only", "main", "parts/")))), fmt.Sprint(1+all-clash+1-red))
	s.nothingLeft()
}

func TestASweepRemovesWhatAKilledServerLeftBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ok(t, s.rs.Sweep(t.Context()))
	for _, name := range []string{"merge-7", "check-8-ABC", "tree-1", "run-1-1", "cache-1", "cache-2"} {
		ok(t, os.MkdirAll(filepath.Join(s.runs, name, "work"), 0o700))
	}
	long := time.Now().Add(-homeFor - time.Hour)
	ok(t, os.Chtimes(filepath.Join(s.runs, "cache-2"), long, long))
	ok(t, s.rs.Sweep(t.Context()))
	same(t, "left", strings.Join(s.left(), " "), "cache-1 run-1-1 tree-1")
}

func TestAMergeIsPushedIfConfigured(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	remote := filepath.Join(t.TempDir(), "remote.git")
	s.git("clone", "-q", "--bare", s.repo, remote)
	s.git("remote", "add", "origin", remote)
	mark := filepath.Join(t.TempDir(), "ran")
	s.write(files{".git/hooks/pre-push": "#!/bin/sh\ntouch " + mark + "\n"})
	ok(t, os.Chmod(filepath.Join(s.repo, ".git/hooks/pre-push"), 0o755))
	s.git("config", "remote.origin.receivepack", "touch "+mark+"; git-receive-pack")
	s.branch("fix", "main", files{"a.txt": "two\n"})
	o := s.order(1, "fix")
	m := s.apply(o)
	o.Push = "nowhere"
	refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "main is merged, but could not be pushed to nowhere")
	o.Push = "origin"
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "remote", testkit.Git(t, remote, "rev-parse", "main"), m.After)
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program named by the repository was run")
	}
}

func TestAMergeIsPushedAfterAPushByOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	remote, other := filepath.Join(t.TempDir(), "remote.git"), filepath.Join(t.TempDir(), "other")
	s.git("clone", "-q", "--bare", s.repo, remote)
	s.git("remote", "add", "origin", remote)
	testkit.Git(t, ".", "clone", "-q", remote, other)
	push := func(message string) {
		t.Helper()
		testkit.Git(t, other, "commit", "-q", "--allow-empty", "-m", message)
		testkit.Git(t, other, "push", "-q", "origin", "main")
	}
	push("the remote moves")
	mark := filepath.Join(t.TempDir(), "ran")
	s.git("config", "remote.origin.uploadpack", "touch "+mark+"; git-upload-pack")
	s.branch("fix", "main", files{"a.txt": "two\n"})
	o := s.order(1, "fix")
	o.Push = "origin"
	m := s.apply(o)
	refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "could not be pushed to origin: [rejected] (fetch first)")

	s.git("pull", "-q", "--no-rebase", "--no-edit", remote, "main")
	s.git("push", "-q", "origin", "main")
	testkit.Git(t, other, "pull", "-q", "--ff-only", "origin", "main")
	push("the remote moves again")
	seen := s.git("rev-parse", "origin/main")
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "the remote-tracking branch", s.git("rev-parse", "origin/main"), seen)
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program named by the repository was run")
	}
}

func TestAfterARefusedPushOnlyWhatIsNewIsFetched(t *testing.T) {
	t.Parallel()
	many := files{}
	for i := range 120 { // so many objects that Git keeps them as a pack
		many[fmt.Sprint(i)] = fmt.Sprint(i)
	}
	s := newSite(t, many)
	remote, other := filepath.Join(t.TempDir(), "remote.git"), filepath.Join(t.TempDir(), "other")
	s.git("clone", "-q", "--bare", s.repo, remote)
	s.git("remote", "add", "origin", remote)
	testkit.Git(t, ".", "clone", "-q", remote, other)
	testkit.Git(t, other, "commit", "-q", "--allow-empty", "-m", "the remote moves")
	testkit.Git(t, other, "push", "-q", "origin", "main")
	s.branch("fix", "main", files{"a.txt": "two\n"})
	o := s.order(1, "fix")
	o.Push = "origin"
	m := s.apply(o)
	refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, "could not be pushed to origin: [rejected] (fetch first)")
	s.git("cat-file", "-e", testkit.Git(t, other, "rev-parse", "main"))
	if packs, err := filepath.Glob(filepath.Join(s.repo, ".git/objects/pack/*.pack")); err != nil || len(packs) > 0 {
		t.Errorf("the whole history was fetched: %v, %v", packs, err)
	}
}

func TestAFullDiskStopsAMergeBeforeTheTargetMoves(t *testing.T) {
	t.Parallel()
	confined(t)
	s := newSite(t, files{"a.txt": "one\n"})
	s.branch("fix", "main", files{"a.txt": "two\n", "big.txt": strings.Repeat(long, 20_000)})
	dir := t.TempDir()
	o := s.order(1, "fix")
	b, err := json.Marshal(written{1, s.repo, "fix", o.Base, o.Head, o.Patch, "true"})
	ok(t, err)
	ok(t, os.WriteFile(filepath.Join(dir, "order"), b, 0o600))
	old := s.git("rev-parse", "main")
	refused := func(phase string, args ...string) {
		t.Helper()
		// Exceeding the file size limit is the closest to a full disk.
		cmd := exec.Command("bash", append([]string{"-c", `ulimit -f 200; exec "$@"`, "bash", os.Args[0], mergerArg, dir, s.runs}, args...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "file") {
			t.Fatalf("%s: %v\n%s", phase, err, out)
		}
		same(t, "main", s.git("rev-parse", "main"), old)
		same(t, "status", s.git("status", "--porcelain"), "")
		same(t, "left", strings.Join(s.left(), " "), "")
	}
	refused("apply")
	m := s.apply(o)
	refused("advance", m.Before, m.After)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
	s.nothingLeft()
}

func TestErrorsOfABrokenRepositoryAreClear(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": long, "b.txt": "b\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	o := s.order(1, "fix")
	blob := s.git("rev-parse", "fix:a.txt")
	object := filepath.Join(s.repo, ".git/objects", blob[:2], blob[2:])
	ok(t, os.Chmod(object, 0o600))
	ok(t, os.WriteFile(object, []byte("garbage"), 0o600))
	_, err := s.rs.Snapshot(t.Context(), s.worktree("fix"), "coder")
	refusal(t, err, task.CodeRepository, "Comparing fix with main failed in the repository "+s.repo)
	_, err = s.rs.Apply(t.Context(), o)
	refusal(t, err, task.CodeRepository, "Merging into main failed in the repository "+s.repo)
	ok(t, os.WriteFile(filepath.Join(s.repo, ".git/config"), []byte("[core\n"), 0o600))
	_, err = s.rs.Snapshot(t.Context(), s.worktree("fix"), "coder")
	refusal(t, err, task.CodeRepository, "bad config")
	ok(t, os.RemoveAll(s.repo))
	_, err = s.rs.Contains(t.Context(), s.repo, "main", o.Head)
	refusal(t, err, task.CodeRepository, "there is no such folder")
}

func TestAMergeFollowsNoLinkOfARepository(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	s.branch("fix", "main", files{"a.txt": "two\n"})
	victim := filepath.Join(t.TempDir(), "victim")
	ok(t, os.WriteFile(victim, []byte("precious\n"), 0o600))
	for _, name := range []string{"taskyard-moves", "index.lock.taskyard"} {
		ok(t, os.Symlink(victim, filepath.Join(s.repo, ".git", name)))
	}
	profile := filepath.Join(t.TempDir(), "profile")
	ok(t, os.WriteFile(profile, nil, 0o600))
	ok(t, os.RemoveAll(filepath.Join(s.repo, ".git/logs/refs/heads/main")))
	ok(t, os.Symlink(profile, filepath.Join(s.repo, ".git/logs/refs/heads/main")))
	s.git("config", "user.name", "$(evil)")
	s.git("config", "user.email", "$(evil)")
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "main", s.git("rev-parse", "main"), m.After)
	if b, err := os.ReadFile(profile); err != nil || strings.Contains(string(b), "evil") {
		t.Errorf("the log of the branch, which leads elsewhere, says %q, %v", b, err) // Git itself follows the link
	}
	b, err := os.ReadFile(victim)
	ok(t, err)
	same(t, "the file that the links name", string(b), "precious\n")

	t.Run("and does not wait for a pipe", func(t *testing.T) {
		s.branch("more", "main", files{"a.txt": "three\n"})
		o := s.order(2, "more")
		m := s.apply(o)
		ok(t, os.Remove(filepath.Join(s.repo, ".git/index")))
		for _, name := range []string{"index", "taskyard-moves", "index.lock"} {
			ok(t, syscall.Mkfifo(filepath.Join(s.repo, ".git", name), 0o600))
		}
		refusal(t, s.rs.Advance(t.Context(), o, m.Before, m.After), task.CodeMergeWaits, ".git/index is not a regular file")
	})
}

func TestAPushRunsNothingThatARepositoryNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "one\n"})
	dir := t.TempDir()
	remote, mark, evil := filepath.Join(dir, "remote's.git"), filepath.Join(dir, "ran"), filepath.Join(dir, "evil")
	s.git("clone", "-q", "--bare", s.repo, remote)
	s.git("remote", "add", "origin", remote)
	s.git("fetch", "-q", "origin")
	ok(t, os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $@\" >> "+mark+"\n"), 0o755))
	arm := func(admin string) {
		for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction"} {
			ok(t, os.MkdirAll(filepath.Join(admin, "hooks"), 0o755))
			ok(t, os.Symlink(evil, filepath.Join(admin, "hooks", hook)))
		}
		ok(t, os.WriteFile(filepath.Join(admin, "objects/info/alternates"), []byte(s.repo+"/.git/objects\n"+remote+"/objects\n"), 0o600))
		testkit.Git(t, admin, "config", "core.alternateRefsCommand", evil)
	}
	s.branch("fix", "main", files{"a.txt": "two\n"})
	arm(remote)
	arm(filepath.Join(s.repo, ".git"))
	o := s.order(1, "fix")
	o.Push = "origin"
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "remote", testkit.Git(t, remote, "rev-parse", "main"), m.After)
	same(t, "the remote-tracking branch", s.git("rev-parse", "origin/main"), m.After)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After)) // it is there already
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("ran:\n%s", b)
	}
}
