package db_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/internal/exchange"
	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

var (
	admin = task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: 1}
	agent = task.Actor{Name: "coder", Role: task.RoleAgent}
)

// tour calls the service and reads the lists in all their forms, so that every
// statement is prepared once.
func tour(t *testing.T) { tourDatabase(t) }

// tourDatabase returns the database after a tour.
func tourDatabase(t *testing.T, with ...func(*db.Options)) *db.DB {
	var ahead atomic.Int64 // offset of the database's clock, which shows each moment once: votes are compared with merges
	with = append(with, func(o *db.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Add(int64(time.Millisecond)))) }
	})
	d := dbtest.New(t, with...)
	dir := t.TempDir()
	text := "---\ndescription: d\ntools: read, task\nrunner: script\nmax_claims: 5\nmax_turns: 9\nmax_tokens_per_day: 1000000\n---\nWork.\n"
	testkit.WriteAgents(t, dir, map[string]string{
		"coder": text, "other": text,
		"webber": strings.Replace(text, "runner: script", "runner: none\nprojects: [web]", 1),
	})
	agents := testkit.OpenAgents(t, dir, nil)
	git := &scriptedGit{head: "first"}
	serve := func(d *db.DB, with func(*service.Config)) *service.Service {
		cfg := service.Config{Rules: testkit.Rules(), Log: slog.New(slog.DiscardHandler)}
		with(&cfg)
		return service.New(d, agents, cfg)
	}
	asIs := func(*service.Config) {}
	s := serve(d, func(c *service.Config) {
		c.Repositories, c.Wakes, c.WakeBudget = git, true, 1
		c.Notify = []service.NotifyTarget{{Name: "ops", Kinds: []task.OutKind{task.OutQuestion}}}
		c.Runner = func(string) service.Runner {
			return service.Runner{Converses: true, RunnerTraits: task.RunnerTraits{Receiver: true, Steers: true}}
		}
	})
	tasks(t, s)
	runs(t, s)
	delegations(t, s)
	inbox(t, s, serve(d, asIs))
	projects(t, s, git)
	overdue(t, s)
	people(t, s)
	lists(t, s)
	history(t, s)
	later := serve(d, func(c *service.Config) {
		c.Repositories, c.Now = git, func() time.Time { return time.Now().AddDate(1, 0, 0) }
	})
	ahead.Add(int64(2 * time.Second))
	if n := must(later.RemindReviewers(context.Background())); n != 1 {
		t.Errorf("got reminders for %d results, want 1", n)
	}
	if n := must(later.RetireBranches(context.Background())); n != 1 {
		t.Errorf("got %d removed branches, want 1", n)
	}
	ok(t, serve(d, func(c *service.Config) { c.KeepTranscripts = time.Nanosecond }).Sweep(context.Background()))
	rest(t, d)
	servers(t, d)
	exports(t, s)
	exports(t, serve(dbtest.New(t, with...), asIs))
	return d
}

// exports imports files into an empty and a nonempty instance and exports them again.
func exports(t *testing.T, s *service.Service) {
	ctx := context.Background()
	plan := exchange.Taskyard(
		exchange.Source{Name: "tasks.json", Data: []byte(`{"tasks":[
 {"id":"1","title":"a","owner":"coder","status":"active","steps":[{"title":"s","taskId":"2"}],"resources":[{"type":"file","value":"/a"}],"blockedBy":["3"],"waitingFor":"user",
  "comments":[{"id":"1","kind":"question","author":"coder","content":"?"}]},
 {"id":"2","title":"b","owner":"coder","status":"draft"}],"nextId":9}`)},
		&exchange.Source{
			Name: "history.jsonl",
			Data: []byte(`{"id":"3","title":"c","owner":"coder","status":"done","archivedAt":"2026-01-01T00:00:00Z"}`),
		},
		&exchange.Source{Name: "todos.json", Data: []byte(`{"coder":["x"]}`)})
	ready := must(s.PrepareImport(admin, plan, service.ImportOptions{}))
	must(s.Import(ctx, admin, ready))
	must(s.Export(ctx, admin, service.ExportTo{Tasks: io.Discard, History: io.Discard, Todos: io.Discard, Projects: io.Discard}))
}

// must returns the value of a call that must succeed. Like template.Must, it panics
// otherwise; testing then prints the test and the line.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func create(t *testing.T, s *service.Service, a task.Actor, in task.New) *task.Task {
	t.Helper()
	in.Title, in.Owner = "A task", "coder"
	return must(s.CreateTask(context.Background(), a, in))
}

func tasks(t *testing.T, s *service.Service) {
	ctx := context.Background()
	tk := create(t, s, admin, task.New{
		NoStart: true, Steps: []task.Step{{Title: "a"}},
		Resources: []task.Resource{{Type: "file", Value: "/a"}, {Type: "file", Value: "/b"}},
	})
	title, owner, working := "Better", "other", "working"
	must(s.UpdateTask(ctx, admin, tk.ID, task.Patch{Title: &title}))
	must(s.ReplaceSteps(ctx, admin, tk.ID, []task.Step{{Title: "a"}, {Title: "b"}}))
	must(s.UpdateStep(ctx, admin, tk.ID, 0, task.StepPatch{Title: &title}))
	sub := must(s.CreateSubtask(ctx, agent, tk.ID, 0, task.New{Title: "s", NoStart: true}))
	must(s.RemoveResource(ctx, admin, tk.ID, 0))
	must(s.Ask(ctx, agent, tk.ID, "?", false))
	must(s.Reply(ctx, admin, tk.ID, "!"))
	must(s.Thread(ctx, admin, tk.ID, 0, 5))
	claimed := must(s.Signup(ctx, agent, "coder", 1))
	must(s.Heartbeat(ctx, agent, claimed[0].ID, 0))
	must(s.AutoSignup(ctx, agent, "coder", 1))
	must(s.ReleaseClaim(ctx, agent, claimed[0].ID, 0))
	must(s.ReleaseExpired(ctx))
	notice := must(s.Notify(ctx, agent, tk.ID, "!"))
	must(s.AcknowledgeNotice(ctx, admin, notice.ID))
	must(s.Inbox(ctx, admin))
	must(s.UpdateTask(ctx, admin, sub.ID, task.Patch{Status: &working}))
	must(s.UpdateTask(ctx, admin, sub.ID, task.Patch{Owner: &owner}))
	taskPages(t, s, tk.ID, sub.ID)
	waits(t, s)
	must(s.CancelTask(ctx, admin, tk.ID, "x"))
	keyed := service.WithIdempotency(ctx, &service.Idempotency{Caller: "c", Key: "k", Request: []byte("r")})
	must(s.CreateTask(keyed, admin, task.New{Title: "x", Owner: "coder", NoStart: true}))
	ok(t, s.Index(ctx))
	openTexts(t, s)
	for _, op := range task.TodoOps {
		item := ""
		if op.Pushes() {
			item = "x"
		}
		must(s.Todo(ctx, agent, "coder", op, item))
	}
}

// openTexts makes enough changes that the texts of open tasks are indexed and those
// of an archived task are removed.
func openTexts(t *testing.T, s *service.Service) {
	ctx := context.Background()
	a, b := create(t, s, admin, task.New{NoStart: true}), create(t, s, admin, task.New{NoStart: true})
	for range 2 {
		for n := range 1000 {
			must(s.UpdateTask(ctx, admin, a.ID, task.Patch{Priority: &n}))
		}
		ok(t, s.Index(ctx))
		for _, q := range []string{"", "task", "task v0.4"} {
			must(s.TaskLines(ctx, admin, task.TaskFilter{Query: q, Sort: task.SortTitle, Limit: 1}))
			must(s.TaskLines(ctx, admin, task.TaskFilter{Query: q, Limit: 1}))
		}
		if b.ArchivedAt == 0 {
			b = must(s.CancelTask(ctx, admin, b.ID, "x")).Task
		}
	}
	must(s.CancelTask(ctx, admin, a.ID, "x"))
}

// waits makes a task wait for two others; one is completed, the other canceled.
func waits(t *testing.T, s *service.Service) {
	ctx := context.Background()
	a, b := create(t, s, admin, task.New{NoStart: true}), create(t, s, admin, task.New{NoStart: true})
	tk := create(t, s, admin, task.New{BlockedBy: []task.ID{a.ID}})
	must(s.SetBlockedBy(ctx, admin, tk.ID, []task.ID{a.ID, b.ID}))
	must(s.SetBlockedBy(ctx, admin, a.ID, []task.ID{b.ID}))
	must(s.Why(ctx, admin, tk.ID))
	must(s.Tick(ctx, "cron"))
	must(s.CompleteTask(ctx, admin, a.ID, "", 0))
	must(s.CancelTask(ctx, admin, b.ID, ""))
	must(s.CancelTask(ctx, admin, tk.ID, ""))
}

func runs(t *testing.T, s *service.Service) {
	ctx := context.Background()
	start := func() *service.Start {
		st, _, err := s.NextRun(ctx, nil)
		ok(t, err)
		if st == nil {
			t.Fatal("no run started")
		}
		ok(t, s.RunWorking(ctx, st.Run.ID, st.Run.Lease, 1, "1", "b"))
		ok(t, s.RunSession(ctx, st.Run.ID, st.Run.Lease, "s", "run-1-1"))
		return st
	}
	tk := create(t, s, admin, task.New{Labels: []string{"api"}})
	must(s.Why(ctx, admin, tk.ID))
	early, _, err := s.NextRun(ctx, nil)
	ok(t, err)
	ok(t, s.RequeueRun(ctx, early.Run.ID, early.Run.Lease))
	st := start()
	message := must(s.SendRunMessage(ctx, admin, st.Run.ID, "use tabs"))
	must(s.QueuedRunMessages(ctx, st.Run.ID, st.Run.Lease))
	ok(t, s.DeliverRunMessage(ctx, st.Run.ID, st.Run.Lease, message.ID))
	must(s.RunMessages(ctx, admin, st.Run.ID))
	must(s.Authenticate(ctx, st.Token, ""))
	ok(t, s.RunHeartbeat(ctx, st.Run.ID, st.Run.Lease))
	ok(t, s.AppendTranscript(ctx, st.Run.ID, st.Run.Lease, []task.Message{{Content: "x"}}))
	must(s.ReportEvents(ctx, task.Actor{Name: "coder", Role: task.RoleAgent, RunID: st.Run.ID}, st.Run.ID,
		task.LeaseRef{Attempt: st.Run.Attempt, Lease: st.Run.Lease}, 1, []task.Message{{Content: "x"}}))
	permissions(t, s, st)
	work(t, s, st)
	for _, by := range service.UsageBy {
		must(s.Usage(ctx, admin, by, 0, 0))
	}
	must(s.Transcript(ctx, admin, st.Run.ID, 0, 5))
	transcripts(t, s, st.Run)
	must(s.Comment(ctx, admin, tk.ID, "news"))
	ok(t, s.RequeueRun(ctx, st.Run.ID, st.Run.Lease))
	st = start()
	ok(t, s.FinishRun(ctx, st.Run.ID, st.Run.Lease, service.Finished{State: task.State{Status: task.RunFailed, Phase: task.PhaseError}}))
	must(s.CompleteTask(ctx, admin, tk.ID, "done", 0))
	create(t, s, agent, task.New{})
	waiting := must(s.Waiting(ctx, admin))
	undoneDecisions(t, s, waiting[0].ID)
	must(s.ApproveRun(ctx, admin, waiting[0].ID, service.Approve{Scope: task.ScopeTask}))
	st = start()
	ok(t, s.FinishRun(ctx, st.Run.ID, st.Run.Lease, service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}}))
	create(t, s, agent, task.New{})
	waiting = must(s.Waiting(ctx, admin))
	must(s.DenyRun(ctx, admin, waiting[0].ID, "no", 0))
	must(s.ExpireApprovals(ctx))
	must(s.Pause(ctx, admin, "coder", "x"))
	must(s.StopEverything(ctx, admin, "x"))
	for _, agent := range []string{"", "coder"} {
		must(s.Resume(ctx, admin, agent, ""))
	}
	must(s.LeaseLost(ctx))
	must(s.Orphans(ctx))
	create(t, s, admin, task.New{NoStart: true})
	must(s.Signup(ctx, agent, "coder", 1)) // a claimed task to skip
	must(s.Tick(ctx, "cron"))
	must(s.Scheduler(ctx, admin))
	ok(t, s.NoteJob(ctx, "x", time.Second, nil))
	ok(t, s.RollUp(ctx))
	ok(t, s.Sweep(ctx))
}

func people(t *testing.T, s *service.Service) {
	ctx := context.Background()
	secret := must(s.SetupLink(ctx))
	u := must(s.FirstAdmin(ctx, secret, "maya", "correct horse battery"))
	must(s.SignIn(ctx, "maya", "correct horse battery", task.Actor{Addr: "::1"}))
	v := must(s.AddUser(ctx, admin, "vera", "correct horse battery", task.RoleAdmin))
	role, off, pw := task.RoleViewer, true, "another horse entirely"
	must(s.UpdateUser(ctx, admin, v.ID, service.UserChange{Role: &role, Disabled: &off, Password: &pw}))
	must(s.Users(ctx, admin))
	maya := task.Actor{Name: "user:maya", Role: task.RoleReviewer, UserID: u.ID}
	tok := must(s.CreateToken(ctx, maya, service.NewToken{Name: "x", Scope: "review", Own: true}))
	must(s.Tokens(ctx, maya))
	must(s.Authenticate(ctx, tok.Secret, ""))
	ok(t, s.FlushTokenUse(ctx))
	must(s.Tokens(ctx, admin))
	ok(t, s.RevokeToken(ctx, admin, tok.ID))
	ok(t, s.RevokeRemoved(ctx))
	must(s.SaveAgent(ctx, admin, "latecomer", "---\ndescription: d\ntools: read\nrunner: none\n---\nWork.\n", "", false))
	ok(t, s.DeleteAgent(ctx, admin, "latecomer"))
	ok(t, s.SaveSession(ctx, "h", u.ID, []byte("x"), time.Now().Add(time.Hour)))
	must(s.KeepSession(ctx, "h", []byte("y"), time.Now().Add(time.Hour)))
	_, _, err := s.Session(ctx, "h")
	ok(t, err)
	must(s.Sessions(ctx, task.Actor{Name: "user:maya", UserID: u.ID}))
	ok(t, s.SignOut(ctx, task.Actor{Name: "user:maya", UserID: u.ID}, "h"))
	ok(t, s.DropSession(ctx, "h"))
	views(t, s, task.Actor{Name: "user:maya", Role: task.RoleAdmin, UserID: u.ID})
	must(s.About(ctx))
	ok(t, s.Probe(ctx))
	must(s.Stats(ctx, admin, 0))
	must(s.BoardDay(ctx, admin))
	ok(t, s.DeleteAgent(ctx, admin, "other"))
}

func views(t *testing.T, s *service.Service, a task.Actor) {
	ctx := context.Background()
	v := must(s.SaveView(ctx, a, "Mine", "/tasks"))
	must(s.RenameView(ctx, a, v.ID, "Yours"))
	must(s.SavedViews(ctx, a))
	must(s.DeleteView(ctx, a, v.ID))
	ok(t, s.SetPreference(ctx, a, task.PrefKeys, "off"))
	must(s.Preferences(ctx, a))
	ok(t, s.SetPreference(ctx, a, task.PrefKeys, ""))
}

// lists reads each list with each filter, and with all of them.
func lists(t *testing.T, s *service.Service) {
	ctx := context.Background()
	low := 1
	open := []task.TaskFilter{
		{},
		{Owner: "coder"},
		{Status: task.Active},
		{Status: task.Draft},
		{WorkStatus: task.Working},
		{WorkStatus: task.Idle},
		{WorkStatus: task.Complete},
		{Parent: 1},
		{MinPriority: &low},
		{Query: "a b"},
		{Label: "api"},
		{After: "0.1.1"},
		{Full: true},
		{CreatedBy: "coder", Blocked: "yes"},
		{Blocked: "no"},
		{Shown: task.ShownWaiting},
		{Shown: task.ShownWorking},
		{Shown: task.ShownFailed},
		{Shown: task.ShownIdle, Owner: "coder"},
		{Sort: task.SortID},
		{Sort: task.SortTitle, Desc: true, After: "1"},
		{Sort: task.SortOwner},
		{Sort: task.SortAge},
		{Sort: task.SortChanged, Desc: true},
		{Owner: "coder", Status: task.Active, WorkStatus: task.Idle, Parent: 1, Label: "api", MinPriority: &low, Query: "a", After: "0.1.1"},
	}
	for _, f := range open {
		f.Limit = 1
		must(s.OpenTasks(ctx, admin, f))
		must(s.Cards(ctx, admin, f))
		if f.WorkStatus != task.Complete { // no board requests it
			must(s.Board(ctx, admin, f))
		}
		_, _, err := s.Matching(ctx, admin, f, 1)
		ok(t, err)
	}
	must(s.TasksByID(ctx, admin, []task.ID{1, 2}))
	must(s.CountDescendants(ctx, admin, []task.ID{1, 2}))
	history := []task.HistoryFilter{
		{},
		{Owner: "coder"},
		{Status: task.Done},
		{From: 1},
		{To: 1},
		{Before: "1.1"},
		{Owner: "coder", Before: "1.1"},
		{Owner: "coder", Status: task.Done, From: 1, To: 2, Before: "1.1"},
	}
	for _, f := range history {
		f.Limit = 1
		must(s.History(ctx, admin, f))
		f.Query = "task"
		must(s.History(ctx, admin, f))
	}
	for _, f := range []task.RunFilter{
		{},
		{TaskID: 1},
		{Agent: "coder"},
		{Status: task.RunRunning},
		{Phase: task.PhaseQueued},
		{Before: 9},
		{Status: task.RunPending, Phase: task.PhaseQueued},
		{Agent: "coder", Status: task.RunFailed},
		{TaskID: 1, Agent: "coder", Status: task.RunFailed, Phase: task.PhaseError, Before: 9},
	} {
		f.Limit = 1
		must(s.Runs(ctx, admin, f))
	}
	for _, f := range []task.EventFilter{{}, {TaskID: 1}} {
		f.Limit = 1
		must(s.Events(ctx, admin, f))
		must(s.Events(ctx, task.Actor{Name: "user:vera", Role: task.RoleViewer}, f))
	}
	must(s.LastRuns(ctx, admin, "coder", 1))
	must(s.AgentReports(ctx, admin, []string{"coder"}, 1))
	must(s.AgentSaved(ctx, admin, "coder"))
	must(s.LastEvent(ctx))
}

// rest calls the methods that no use case needs yet.
func rest(t *testing.T, d *db.DB) {
	ok(t, d.Read(context.Background(), func(rx *db.Rx) error {
		if _, err := rx.Relation("coder", 0, 1); err != nil {
			return err
		}
		_ = must(rx.OpenCount("", ""))
		_ = must(rx.OpenOwners())
		_ = must(rx.Definition("x"))
		_ = must(rx.CheckChain())
		_ = must(rx.DueDecisions(1))
		_ = must(rx.ClosingDue(1))
		return nil
	}))
	ok(t, d.Write(context.Background(), func(tx *db.Tx) error {
		was := must(tx.AgentFilesVersion())
		ok(t, errors.Join(tx.SaveDefinition("h", "x", "x"), tx.SetAgentFile("x", "h"), tx.SetAgentFile("x", "")))
		if f := must(tx.AgentFile("x")); f.Hash != "" || f.Version != was+2 || !slices.Contains(must(tx.AgentFiles()), f) {
			t.Errorf("got agent %+v, want a removed one of version %d", f, was+2)
		}
		return nil
	}))
	ok(t, d.Write(context.Background(), func(tx *db.Tx) error { return errors.Join(tx.SetClosing(1, tx.Now), tx.ShiftDue(-time.Second)) }))
}
