package client

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// play selects what to do by agent and by progress of the task, so that each
// run continues where the last one ended.
func (a *demoAgent) play() (summary string, err error) {
	switch a.name {
	case "planner":
		return a.playPlanner()
	case "reviewer":
		return a.playReviewer()
	}
	return a.playBuilder()
}

// playPlanner plans, delegates one step, and finishes when that is done.
func (a *demoAgent) playPlanner() (string, error) {
	if len(a.task.Steps) == 0 {
		if err := a.plan("Collect the merged changes", "Write the page", "Publish and announce"); err != nil {
			return "", err
		}
		if err := a.tick(0, "Going through the merged pull requests since the last release."); err != nil {
			return "", err
		}
		if err := a.call("add_resource", "POST", a.path("/resources"),
			task.Resource{Type: "url", Value: "https://example.com/changelog", Label: "Merged changes"}, nil); err != nil {
			return "", err
		}
		a.say("Writing is the builder's work. Delegating step 2.")
		sub := map[string]any{
			"title": "Write the release notes page", "owner": "builder", "priority": 7,
			"description": "Turn the **merged changes** into one page: what is new, what is fixed, what to do when upgrading.",
		}
		if err := a.call("create_subtask", "POST", a.path("/steps/1/subtask"), sub, nil); err != nil {
			return "", err
		}
		return "Planned in 3 steps; step 2 is delegated to the builder. I will continue when it is done.", nil
	}
	return a.finishPlan()
}

func (a *demoAgent) finishPlan() (string, error) {
	for i, s := range a.task.Steps {
		if s.Done {
			continue
		}
		if s.TaskID != 0 {
			var sub task.Task
			if err := a.call("get_task", "GET", "/api/tasks/"+s.TaskID.String(), nil, &sub); err != nil {
				return "", err
			}
			if sub.Status != task.Done {
				return fmt.Sprintf("Subtask #%s is %s; waiting for it.", s.TaskID, sub.Status), nil
			}
			a.say("Subtask #%s is done: %s", s.TaskID, sub.Summary)
		}
		if err := a.tick(i, "Working on: "+s.Title+"."); err != nil {
			return "", err
		}
	}
	return a.complete("The release notes are written, checked against the merged changes, and announced.")
}

// playBuilder works through its own plan; it hands guides over to the reviewer
// halfway.
func (a *demoAgent) playBuilder() (string, error) {
	if a.task.Project != "" {
		return a.playSite()
	}
	guide, fault := strings.Contains(a.task.Title, "guide"), strings.HasPrefix(a.task.Title, "Fix")
	if len(a.task.Steps) == 0 {
		titles := []string{"Outline", "Draft", "Proof-read"}
		if fault {
			titles = []string{"Reproduce it", "Find the cause", "Fix it and add a test"}
		}
		if err := a.plan(titles...); err != nil {
			return "", err
		}
	}
	for i, s := range a.task.Steps {
		if s.Done {
			continue
		}
		if guide && i == len(a.task.Steps)-1 {
			a.say("The draft is done. Somebody else should proofread it.")
			in := map[string]any{
				"currentAgent": a.name, "newAgent": "reviewer",
				"comment": "The draft is complete. Please proof-read the part about restoring, then finish.",
			}
			return "Handed over to the reviewer for proof-reading.", a.call("move_task", "POST", a.path("/move"), in, nil)
		}
		if err := a.tick(i, s.Title+"."); err != nil {
			return "", err
		}
	}
	if a.task.ParentTaskID != 0 {
		return a.complete("The page is written: 4 new features, 11 fixes, one upgrade note.")
	}
	if fault {
		return a.complete("The test raced on the lease clock. It now takes the time from the transaction; 500 runs in a row are green.")
	}
	return a.complete("Every step is checked off. This agent is a script of the demo: it made nothing.")
}

// playReviewer asks a person once, then finishes with the answer.
func (a *demoAgent) playReviewer() (string, error) {
	if len(a.task.Steps) > 0 {
		for i, s := range a.task.Steps {
			if s.Done {
				continue
			}
			if err := a.tick(i, "Proof-reading; the restore drill works as written."); err != nil {
				return "", err
			}
		}
		return a.complete("Proof-read and tried: the guide restores a backup in two commands.")
	}
	answer := ""
	for _, c := range a.task.Comments {
		if c.Kind == task.KindAnswer {
			answer = c.Content
		}
	}
	if answer != "" {
		a.say("A person answered: %s", answer)
		return a.complete("Retry policy reviewed. Decision by a person: " + answer)
	}
	a.say("The policy retries 5 times within an hour. Whether that is acceptable is not mine to decide.")
	in := map[string]any{
		"message":    "The retry policy makes **5 attempts within an hour**. Is that acceptable, or should it stop earlier?",
		"needsReply": true,
	}
	return "Asked a person about the number of attempts.", a.call("notify_user", "POST", a.path("/notify"), in, nil)
}
