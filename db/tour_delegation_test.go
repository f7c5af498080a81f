package db_test

import (
	"context"
	"testing"
	"time"

	"taskyard/service"
	"taskyard/task"
)

// delegations makes a run delegate twice, and follows, ends and stops the delegated runs.
func delegations(t *testing.T, s *service.Service) {
	ctx := context.Background()
	for { // end everything else first
		st, _, err := s.NextRun(ctx, nil)
		ok(t, err)
		if st == nil {
			break
		}
		ok(t, s.FinishRun(ctx, st.Run.ID, st.Run.Lease,
			service.Finished{State: task.State{Status: task.RunFailed, Phase: task.PhaseCrash}, Permanent: true}))
	}
	tk := must(s.CreateTask(ctx, admin, task.New{Title: "Delegate", Owner: "coder", Steps: []task.Step{{Title: "a"}}}))
	parent, _, err := s.NextRun(ctx, nil)
	ok(t, err)
	if parent == nil || parent.Run.TaskID != tk.ID {
		t.Fatalf("the run of task %d did not start", tk.ID)
	}
	a := must(s.Authenticate(ctx, parent.Token, ""))
	ok(t, s.AppendTranscript(ctx, parent.Run.ID, parent.Run.Lease,
		[]task.Message{{Type: "usage", Content: "x", Data: []byte(`{"tokensIn":1}`)}}))
	made := must(s.CreateTask(ctx, a, task.New{Title: "Beside it", Owner: "other", NoStart: true}))
	must(s.Comment(ctx, a, made.ID, "this is for later"))
	for _, tk := range must(s.Signup(ctx, a, a.Name, 1)) {
		must(s.ReleaseClaim(ctx, a, tk.ID, 0))
	}
	token := must(s.CreateToken(ctx, admin, service.NewToken{Name: "program", Scope: "admin"}))
	program, coder := task.Actor{Name: "user:program", Role: task.RoleAdmin, TokenID: token.ID}, "coder"
	must(s.UpdateTask(ctx, program, made.ID, task.Patch{Owner: &coder}))
	woken := must(s.Runs(ctx, admin, task.RunFilter{TaskID: made.ID, Limit: 1}))
	must(s.ApproveRun(ctx, program, woken[0].ID, service.Approve{})) // the only reviewer
	must(s.CancelTask(ctx, a, made.ID, ""))
	zero := 0
	first := must(s.Delegate(ctx, a, task.Delegation{Task: "Do it", AgentType: "other", StepIndex: &zero}))
	must(s.ApproveRun(ctx, admin, first.RunID, service.Approve{}))
	child, _, err := s.NextRun(ctx, nil)
	ok(t, err)
	if child == nil || child.Run.ID != first.RunID {
		t.Fatal("the delegated run did not start")
	}
	ok(t, s.RunWorking(ctx, child.Run.ID, child.Run.Lease, 1, "1", "b"))
	ok(t, s.FinishRun(ctx, child.Run.ID, child.Run.Lease,
		service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Summary: "done"}))
	must(s.DelegatedRun(ctx, a, first.RunID, time.Second))
	if kids := must(s.Children(ctx, admin, parent.Run.ID)); len(kids) != 1 {
		t.Errorf("got %d delegated runs, want 1", len(kids))
	}
	second := must(s.Delegate(ctx, a, task.Delegation{Task: "Do more", AgentType: "other"}))
	must(s.StopDelegated(ctx, a, second.RunID, "enough"))
	ok(t, s.RunWorking(ctx, parent.Run.ID, parent.Run.Lease, 1, "1", "b"))
	ok(t, s.FinishRun(ctx, parent.Run.ID, parent.Run.Lease,
		service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}}))
	asked := must(s.RunNow(ctx, agent, tk.ID))
	must(s.CancelRun(ctx, admin, asked.ID, ""))
	must(s.CancelTask(ctx, admin, tk.ID, "x"))
	conversation(t, s)
}

// conversation makes a run end its turn, and a comment wake the agent again.
func conversation(t *testing.T, s *service.Service) {
	ctx := context.Background()
	tk := must(s.CreateTask(ctx, admin, task.New{Title: "Talk", Owner: "coder", NoStart: true}))
	must(s.RunNow(ctx, admin, tk.ID))
	first, _, err := s.NextRun(ctx, nil)
	ok(t, err)
	ok(t, s.RunWorking(ctx, first.Run.ID, first.Run.Lease, 1, "1", "b"))
	ok(t, s.FinishRun(ctx, first.Run.ID, first.Run.Lease,
		service.Finished{State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}}))
	must(s.Comment(ctx, admin, tk.ID, "and now?"))
	next, _, err := s.NextRun(ctx, nil)
	ok(t, err)
	if list := must(s.Conversation(ctx, next.Run)); len(list) != 1 {
		t.Errorf("the conversation has %d runs, want 2", len(list))
	}
	must(s.CancelTask(ctx, admin, tk.ID, ""))
}
