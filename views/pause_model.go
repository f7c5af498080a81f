package views

import (
	"cmp"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// PauseModel is the page that asks for a reason before a pause.
type PauseModel struct {
	Agent  string // "" for the whole server
	Reason string // as typed
	Errors ui.FieldErrors
}

// title says what the page does.
func (m *PauseModel) title() string {
	if m.Agent == "" {
		return "Pause Taskyard"
	}
	return "Pause " + m.Agent
}

// back returns the page that linked to this one.
func (m *PauseModel) back() string {
	if m.Agent == "" {
		return URL.Scheduler()
	}
	return URL.Agent(m.Agent)
}

// StopModel is the confirmation before everything is stopped.
type StopModel struct {
	Running []task.Run // runs that would be stopped
	Queued  int        // queued runs, which stay
	Reason  string     // as typed
	Errors  ui.FieldErrors
}

func (m *StopModel) label() string {
	if len(m.Running) == 0 {
		return "Stop everything"
	}
	return "Stop " + ui.Count(len(m.Running), "run", "runs") + " and pause"
}

// Pause is the page that asks for a reason, and the target of its form; the
// agent "" is the whole server.
func (u urls) Pause(agent string) string { return u.pauseAct(agent, "pause") }

// Resume is the target of forms that end a pause.
func (u urls) Resume(agent string) string { return u.pauseAct(agent, "resume") }

// StopEverything is the confirmation page, and the target of its form.
func (u urls) StopEverything() string { return u.SchedulerAct("stop-everything") }

func (u urls) pauseAct(agent, act string) string {
	if agent == "" {
		return u.SchedulerAct(act)
	}
	return u.AgentAct(agent, act)
}

// pausedName returns the name of what is paused.
func pausedName(p *task.Pause) string { return cmp.Or(p.Agent, "Taskyard") }

// pausedAgents returns the pauses of agents.
func pausedAgents(ps task.Pauses) (list []task.Pause) {
	for _, p := range ps {
		if p.Agent != "" {
			list = append(list, p)
		}
	}
	return list
}

// frame returns the attributes of the part of every page that reports on the
// server as a whole. Other live parts update it, so it only refetches itself if
// there are none.
func frame(c Chrome) templ.Attributes {
	return templ.Attributes{
		"id": "frame", "data-live": TopicFrame, "data-live-frame": true, "hx-get": c.Path, "hx-trigger": "live", "hx-target": "#frame",
		"hx-select": "#frame", "hx-select-oob": "#nav:morph,#clock:morph", "hx-swap": "morph:outerHTML", "hx-ext": "morph",
	}
}

// pauseButton selects the button that pauses the server or an agent again, on
// the pages that have one: it gets the focus of the button that resumed.
func pauseButton(agent string) string {
	if agent == "" {
		return "#sched-acts a"
	}
	return "#agent-acts a"
}
