package db_test

import (
	"testing"

	"taskyard/db"
	"taskyard/db/dbtest"
	"taskyard/task"
)

func TestTheViewsUseTheTermsOfTheExecutionModel(t *testing.T) {
	d := dbtest.New(t)
	ok(t, d.Write(t.Context(), func(tx *db.Tx) error {
		id, err := tx.InsertTask(&task.Task{Title: "survey", Owner: "coder", CreatedBy: "user:maya", Status: task.Active, Channel: "web"})
		if err != nil {
			return err
		}
		run, err := tx.InsertRun(&task.Run{
			TaskID: id, Agent: "coder", Status: task.RunPending,
			Phase: task.PhaseQueued, Cause: task.CauseManual, AskedBy: "user:maya", Attempt: 1,
		})
		if err != nil {
			return err
		}
		_, err = tx.InsertMessage(task.Message{
			TaskID: id, RunID: run, Kind: task.KindRun,
			Role: task.SpeakerAssistant, Type: "text", Author: "coder", Content: "found it",
		})
		return err
	}))
	var agent, about, status, role, content string
	row := raw(t, d.Path()).QueryRowContext(t.Context(), `SELECT e.agent_type, e.task_description, e.status, m.role, m.content
 FROM task_executions e JOIN task_messages m ON m.task_execution_id = e.id WHERE e.conversation_id = 1 AND e.model = ''`)
	ok(t, row.Scan(&agent, &about, &status, &role, &content))
	if agent != "coder" || about != "survey" || status != "pending" || role != "assistant" || content != "found it" {
		t.Error(agent, about, status, role, content)
	}
}
