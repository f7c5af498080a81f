package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"taskyard/runner/supervise"
	"taskyard/task"
)

// talk is one conversation: initialize, session/new, session/prompt. Its types
// are those of the SDK. The connection is our own, because that of the SDK
// closes when updates arrive faster than they are stored, and starts one
// goroutine per request of the agent.
type talk struct {
	*supervise.Run
	bridge []string

	asking     context.Context // ends when permissions no longer matter
	stopAsking context.CancelFunc
	permits    sync.WaitGroup // pending permission requests
	waiting    int            // number of permits; used only by the pump

	mu      sync.Mutex
	session acp.SessionId // "" until known
	decided []decision    // by people, not yet reported

	step    int // ID of our last request
	next    func(json.RawMessage)
	onError func(*acp.RequestError)
	result  *acp.PromptResponse
	failed  *supervise.Outcome
	texts   texts
	tools   map[acp.ToolCallId]*tool
	calls   []*tool // begun and not reported yet, oldest first
	spent   float64 // US dollars, as last reported

	agent   string // name of the agent
	counted bool   // token usage is reported per turn
	denied  string // the last denied call, with the reason
}

func newTalk(ctx context.Context, bridge []string) *talk {
	t := &talk{bridge: bridge, tools: map[acp.ToolCallId]*tool{}}
	t.asking, t.stopAsking = context.WithCancel(ctx)
	return t
}

// read attaches the conversation to a run.
func (t *talk) read(r *supervise.Run) {
	t.Run = r
	r.ReadLines(false, t.line)
}

// Begin sends the first message.
func (t *talk) Begin() {
	t.request(acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "taskyard", Version: "1"},
	}, t.initialized)
}

func (t *talk) Output(s supervise.Stream, b []byte) bool {
	t.reportDecisions()
	return t.Run.Output(s, b)
}

func (t *talk) Quiet(s supervise.Stream) {
	t.reportDecisions()
	if s == supervise.Stdout {
		t.flush(true)
	}
	t.Run.Quiet(s)
}

func (t *talk) Closed(s supervise.Stream) {
	t.Run.Closed(s)
	if s == supervise.Stdout {
		t.stopAsking()
		t.flush(false)
		t.reportPendingCalls()
	}
}

// finish closes stdin. An agent that keeps running is stopped, with the outcome
// that it has reached.
func (t *talk) finish() {
	t.mu.Lock()
	t.session = "" // there is nothing left to cancel
	t.mu.Unlock()
	t.CloseInput()
	t.EndSoon(new(t.outcome()))
}

// initialized opens a session with our MCP server.
func (t *talk) initialized(raw json.RawMessage) {
	var r acp.InitializeResponse
	if !t.decode(raw, &r) {
		return
	}
	if r.ProtocolVersion != acp.ProtocolVersionNumber {
		t.fail(supervise.Permanent(task.PhaseProtocol, fmt.Sprintf("It speaks version %d of the Agent Client Protocol, not %d",
			r.ProtocolVersion, acp.ProtocolVersionNumber)))
		return
	}
	if r.AgentInfo != nil {
		t.agent = r.AgentInfo.Name
		version := r.AgentInfo.Name + " " + r.AgentInfo.Version
		t.Event(supervise.EventLog, version, map[string]any{"version": version}, raw)
	}
	t.open(r, true)
}

// open requests a session. If the agent requires authentication first, it is
// told once to use its key.
func (t *talk) open(r acp.InitializeResponse, first bool) {
	t.request(acp.AgentMethodSessionNew, acp.NewSessionRequest{
		Cwd:        t.Work,
		McpServers: t.servers(r.AgentCapabilities.McpCapabilities),
	}, t.opened)
	method := keyMethod(r.AuthMethods)
	if !first || method == "" {
		return
	}
	t.onError = func(e *acp.RequestError) {
		if e.Code != authRequired {
			t.handleError(e)
			return
		}
		t.request(acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: method}, func(json.RawMessage) { t.open(r, false) })
		t.onError = func(e *acp.RequestError) { t.fail(supervise.RefusedCredentials(e.Message)) }
	}
}

// opened sets the model, if one is configured and the agent offers a choice.
func (t *talk) opened(raw json.RawMessage) {
	var r acp.NewSessionResponse
	if !t.decode(raw, &r) {
		return
	}
	t.mu.Lock()
	t.session = r.SessionId
	t.mu.Unlock()
	t.Event(supervise.EventLog, "session "+string(r.SessionId), map[string]any{"sessionId": r.SessionId}, raw)
	model := t.Spec.Plan.Model
	switch {
	case model == "" || r.Models != nil && modelName(r.Models.CurrentModelId) == model:
		t.prompt(nil)
	case r.Models == nil || len(r.Models.AvailableModels) == 0:
		t.Event(supervise.EventLog, "The agent offers no choice of models; "+model+" was not set.", nil, raw)
		t.prompt(nil)
	default:
		t.choose(model, r.Models.AvailableModels)
	}
}

func (t *talk) choose(model string, offered []acp.ModelInfo) {
	var names []string
	for _, m := range offered {
		if string(m.ModelId) == model || modelName(m.ModelId) == model {
			t.request(acp.AgentMethodSessionSetModel,
				acp.UnstableSetSessionModelRequest{SessionId: t.session, ModelId: acp.UnstableModelId(m.ModelId)}, t.prompt)
			return
		}
		names = append(names, modelName(m.ModelId))
	}
	t.fail(supervise.Permanent(task.PhaseError, "It does not offer the model "+model+": it has "+strings.Join(names, ", ")))
}

// modelName returns the model name within an ID that also contains its
// provider: Qwen Code uses "$runtime|openai|qwen3-coder(openai)".
func modelName(id acp.ModelId) string {
	name, _, _ := strings.Cut(string(id)[strings.LastIndex(string(id), "|")+1:], "(")
	return name
}

func (t *talk) prompt(json.RawMessage) {
	t.turn(strings.TrimSuffix(supervise.Prompt(t.Spec.Plan), "\n"))
}

// turn prompts the agent. The answer begins a new text.
func (t *talk) turn(text string) {
	t.texts.messageEnded = true
	t.request(acp.AgentMethodSessionPrompt,
		acp.PromptRequest{SessionId: t.session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}, t.prompted)
}

// prompted handles the end of a turn. Messages that people sent in the meantime
// start the next turn; without any, the conversation ends.
func (t *talk) prompted(raw json.RawMessage) {
	var r acp.PromptResponse
	if !t.decode(raw, &r) {
		return
	}
	t.flush(false)
	t.reportPendingCalls()
	t.endUsage(&r, raw)
	if r.StopReason == acp.StopReasonEndTurn && t.Stopped() == nil {
		if texts := t.Messages(); len(texts) > 0 {
			t.turn(strings.Join(texts, "\n\n"))
			return
		}
	}
	t.result = &r
	t.finish()
}

// Interrupt asks the agent to stop, if it has a session.
func (t *talk) Interrupt() bool {
	t.stopAsking()
	t.mu.Lock()
	session := t.session
	t.mu.Unlock()
	if session != "" {
		t.send(message{Method: acp.AgentMethodSessionCancel, Params: acp.CancelNotification{SessionId: session}})
	}
	return session != ""
}

// Verdict depends on the response to the prompt. The exit status does not
// matter, because many agents must be killed.
func (t *talk) Verdict(e supervise.Exit) supervise.Outcome {
	switch stop := t.Stopped(); {
	case stop != nil:
		return *stop
	case t.failed != nil || t.result != nil:
		return t.outcome()
	}
	if abnormal := t.Abnormal(e); abnormal != nil {
		return *abnormal
	}
	return supervise.Failed(task.PhaseProtocol, "It ended without answering its prompt"+t.LastOutput())
}

// outcome returns the outcome of a finished conversation.
func (t *talk) outcome() supervise.Outcome {
	if t.failed != nil {
		return *t.failed
	}
	switch reason := t.result.StopReason; reason {
	case acp.StopReasonEndTurn:
		return t.summary()
	case acp.StopReasonMaxTokens:
		return supervise.Failed(task.PhaseTokens, "The agent reached the token limit of its model")
	case acp.StopReasonMaxTurnRequests:
		return supervise.Failed(task.PhaseTurns, "The agent made as many model calls as it may in a turn")
	case acp.StopReasonRefusal:
		return supervise.Failed(task.PhaseError, "The agent refused to continue"+t.LastOutput())
	case acp.StopReasonCancelled:
		if t.denied != "" {
			return supervise.Failed(task.PhaseError, "The agent stopped after a call was denied: "+t.denied)
		}
		return supervise.Failed(task.PhaseError, "The agent reports that it was canceled, but nobody canceled it")
	default:
		return supervise.Failed(task.PhaseProtocol, fmt.Sprintf("It stopped for the unknown reason %.100q", string(reason)))
	}
}

func (t *talk) summary() supervise.Outcome {
	last := t.texts.message.Last(task.MaxSummaryRun)
	switch {
	case last == "" && t.denied != "":
		return supervise.Failed(task.PhaseError, supervise.NoResult+" after a call was denied: "+t.denied)
	case last == "":
		return supervise.Failed(task.PhaseError, supervise.NoResult)
	}
	return supervise.Completed(last)
}
