package db

import (
	"context"
	"path/filepath"
	"taskyard/task"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	d, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = d.Write(context.Background(), func(tx *Tx) error {
		id, err := tx.InsertTask(&task.Task{Title: "a", Owner: "coder", CreatedBy: "x", Status: task.Active, Channel: "web", Steps: []task.Step{{Title: "s"}}, Resources: []task.Resource{{Type: "url", Value: "http://x"}}})
		if err != nil {
			return err
		}
		tx.InsertMessage(task.Message{TaskID: id, Kind: task.KindComment, Author: "x", Content: "hi \"q\""})
		return tx.AddEvent(task.Event{Actor: "x", Kind: "task.created", TaskID: id})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Write(context.Background(), func(tx *Tx) error {
		tk, err := tx.ClaimNext("coder", time.Hour)
		if err != nil {
			return err
		}
		t.Logf("%+v %+v", tk, tk.Comments)
		rid, err := tx.InsertRun(&task.Run{TaskID: tk.ID, Agent: "coder", Status: task.RunPending, Phase: task.PhaseQueued, Cause: task.CauseTick, AskedBy: "x", Attempt: 1})
		if err != nil {
			return err
		}
		r, err := tx.Run(rid)
		if err != nil {
			return err
		}
		if ok, err := tx.StartRun(r, 1, time.Hour); !ok || err != nil {
			t.Fatal(ok, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Write(context.Background(), func(tx *Tx) error {
		_, err := tx.IndexEvents(10)
		if err != nil {
			t.Error(err)
		}
		return err
	})
	d.Read(context.Background(), func(rx *Rx) error {
		l, _, err := rx.OpenTasks(task.TaskFilter{Limit: 10, After: "5.3", Query: "a"}, true)
		t.Log(len(l), err)
		n, err := rx.CheckChain()
		t.Log(n, err)
		ld, err := rx.Loads()
		t.Log(ld, err)
		_, _, err = rx.History(task.HistoryFilter{Query: "a", Limit: 5})
		t.Log(err)
		rr, err := rx.Running()
		t.Log(len(rr), err)
		_, err = rx.Runs(task.RunFilter{Limit: 3})
		t.Log(err)
		c, err := rx.Counts()
		t.Log(c, err)
		_, err = rx.QueuedRuns(4)
		t.Log(err)
		_, err = rx.Skips(4)
		t.Log(err)
		_, _, err = rx.QueuedAgents()
		t.Log(err)
		return nil
	})
}
