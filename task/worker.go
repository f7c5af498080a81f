package task

import (
	"encoding/json"
	"time"
)

// Bounds of what is reported over the API.
const (
	MaxReportText = 32 << 10 // bytes of an event's text, and of its data
	MaxReported   = 24 << 20 // bytes of all events of a run
	MaxArtifacts  = 100      // names of what a run made; each at most 4096 bytes
	MaxWorkerTags = 50       // labels, and runners, of a worker
)

// WorkerAsk is what a worker offers when it asks for a run.
type WorkerAsk struct {
	Name    string   // of the machine, for people; may be ""
	Labels  []string // what it offers
	Runners []string // those it can execute; empty: any
	Parent  ID       // only what this run delegated, which waits for it in a place of the worker; 0: any run
	Wait    time.Duration
}

// Leased is a run that a worker is to execute.
type Leased struct {
	RunID   ID     `json:"runId"`
	TaskID  ID     `json:"taskId"`
	Attempt int    `json:"attempt"`
	Lease   int64  `json:"lease" doc:"send it with every report, together with attempt"`
	Spec    Spec   `json:"spec"`
	Token   string `json:"token" doc:"the agent's token; expires with the run"`
	Seconds int    `json:"leaseSeconds" doc:"the run is lost after this time without a heartbeat"`

	RunFolders
}

// LeaseRef is the fence of a report: the start of a run that it belongs to.
type LeaseRef struct {
	Attempt int   `json:"attempt" minimum:"1"`
	Lease   int64 `json:"lease" minimum:"1"`
}

// Beat answers a heartbeat.
type Beat struct {
	Cancel bool   `json:"cancel" doc:"true: the run has ended on the server; stop its program"`
	Waits  bool   `json:"waits,omitzero" doc:"true: the run is waiting for what it delegated; its timeouts are paused"`
	Phase  Phase  `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// RunLine is an event of a run as it is reported.
type RunLine struct {
	Type string          `json:"type"`
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// EventSpeaker returns the speaker of an event of a type.
func EventSpeaker(event string) Speaker {
	switch event {
	case "text", "tool_call":
		return SpeakerAssistant
	case "tool_result":
		return SpeakerTool
	}
	return SpeakerSystem
}
