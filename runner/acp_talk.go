package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"

	"taskyard/task"
)

// acpTalk is one conversation: initialize, session/new, session/prompt. Its
// types are those of the SDK; the connection is ours, because that of the SDK
// closes when updates come faster than they are stored, and starts as many
// goroutines as an agent sends requests.
type acpTalk struct {
	*protocol
	link   link
	spec   Spec
	work   string
	bridge []string
	grace  time.Duration // for an agent that keeps running although its stdin is closed
	linger *time.Timer   // ends such an agent
	sink   Sink

	asking     context.Context // ends when no permission matters any more
	stopAsking context.CancelFunc
	permits    sync.WaitGroup // questions to people
	waiting    int            // of them; used by the pump alone

	mu      sync.Mutex
	session acp.SessionId // "" until it is known
	decided []decision    // by people, not yet told

	step   int // id of the last request of ours
	next   func(json.RawMessage)
	refuse func(*acp.RequestError)
	result *acp.PromptResponse
	failed *Outcome
	texts  acpTexts
	tools  map[acp.ToolCallId]*acpTool
	calls  []*acpTool // begun and not told yet, oldest first
	spent  float64    // US dollars, as last told

	agent   string // its name
	counted bool   // its turns report their tokens
	denied  string // the last call that was denied, with the reason
}

// begin binds the conversation to the protocol of a run.
func (t *acpTalk) begin(p *protocol, work string) reader {
	t.protocol, t.work, t.tools = p, work, map[acp.ToolCallId]*acpTool{}
	p.streams[stdout].lines.emit = t.line
	return t
}

// Attach says the first word.
func (t *acpTalk) Attach(l link) {
	t.link = l
	t.request(acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "taskyard", Version: "1"},
	}, t.initialized)
}

func (t *acpTalk) Output(s stream, b []byte) bool {
	t.reportDecisions()
	return t.protocol.Output(s, b)
}

func (t *acpTalk) Quiet(s stream) {
	t.reportDecisions()
	if s == stdout {
		t.flush(true)
	}
	t.protocol.Quiet(s)
}

func (t *acpTalk) Closed(s stream) {
	t.protocol.Closed(s)
	if s == stdout {
		t.stopAsking()
		t.flush(false)
		t.tellAll()
		if t.linger != nil {
			t.linger.Stop()
		}
	}
}

// hangUp closes stdin: nothing more will be said. An agent that keeps running is
// ended, with the outcome that it has reached.
func (t *acpTalk) hangUp() {
	out := t.reached()
	t.mu.Lock()
	t.session = "" // there is nothing left to cancel
	t.mu.Unlock()
	go t.link.in.Close()
	t.linger = time.AfterFunc(orGrace(t.grace), func() { t.st.Stop(out) })
}

func orGrace(d time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return defaultGrace
}

// initialized opens a session with our MCP server.
func (t *acpTalk) initialized(raw json.RawMessage) {
	var r acp.InitializeResponse
	if !t.read(raw, &r) {
		return
	}
	if r.ProtocolVersion != acp.ProtocolVersionNumber {
		t.giveUp(permanentProtocol(fmt.Sprintf("It speaks version %d of the Agent Client Protocol, not %d",
			r.ProtocolVersion, acp.ProtocolVersionNumber)))
		return
	}
	if r.AgentInfo != nil {
		t.agent = r.AgentInfo.Name
		t.event(EventLog, r.AgentInfo.Name+" "+r.AgentInfo.Version, map[string]any{"version": r.AgentInfo.Name + " " + r.AgentInfo.Version}, raw)
	}
	t.open(r, true)
}

// open asks for a session. An agent that first wants to be told how to sign in
// is told to use its key, once.
func (t *acpTalk) open(r acp.InitializeResponse, first bool) {
	t.request(acp.AgentMethodSessionNew, acp.NewSessionRequest{
		Cwd:        t.work,
		McpServers: t.servers(r.AgentCapabilities.McpCapabilities),
	}, t.opened)
	method := keyMethod(r.AuthMethods)
	if !first || method == "" {
		return
	}
	t.refuse = func(e *acp.RequestError) {
		if e.Code != authRequired {
			t.refused(e)
			return
		}
		t.request(acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: method}, func(json.RawMessage) { t.open(r, false) })
		t.refuse = func(e *acp.RequestError) { t.giveUp(refusedCredentials(e.Message)) }
	}
}

// opened chooses the model, where one is named and the agent offers any.
func (t *acpTalk) opened(raw json.RawMessage) {
	var r acp.NewSessionResponse
	if !t.read(raw, &r) {
		return
	}
	t.mu.Lock()
	t.session = r.SessionId
	t.mu.Unlock()
	t.event(EventLog, "session "+string(r.SessionId), map[string]any{"sessionId": r.SessionId}, raw)
	model := t.spec.Plan.Model
	switch {
	case model == "" || r.Models != nil && modelName(r.Models.CurrentModelId) == model:
		t.prompt(nil)
	case r.Models == nil || len(r.Models.AvailableModels) == 0:
		t.event(EventLog, "The agent offers no choice of models; "+model+" was not set.", nil, raw)
		t.prompt(nil)
	default:
		t.choose(model, r.Models.AvailableModels)
	}
}

func (t *acpTalk) choose(model string, offered []acp.ModelInfo) {
	var names []string
	for _, m := range offered {
		if string(m.ModelId) == model || modelName(m.ModelId) == model {
			t.request(acp.AgentMethodSessionSetModel,
				acp.UnstableSetSessionModelRequest{SessionId: t.session, ModelId: acp.UnstableModelId(m.ModelId)}, t.prompt)
			return
		}
		names = append(names, modelName(m.ModelId))
	}
	t.giveUp(permanently("It does not offer the model " + model + ": it has " + strings.Join(names, ", ")))
}

// modelName returns the name of a model in an ID that also says how to reach
// it: Qwen Code has "$runtime|openai|qwen3-coder(openai)".
func modelName(id acp.ModelId) string {
	name, _, _ := strings.Cut(string(id)[strings.LastIndex(string(id), "|")+1:], "(")
	return name
}

func (t *acpTalk) prompt(json.RawMessage) {
	text := strings.TrimSuffix(prompt(t.spec.Plan), "\n")
	t.request(acp.AgentMethodSessionPrompt,
		acp.PromptRequest{SessionId: t.session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}, t.prompted)
}

// prompted is the end of the turn, and of the conversation.
func (t *acpTalk) prompted(raw json.RawMessage) {
	var r acp.PromptResponse
	if !t.read(raw, &r) {
		return
	}
	t.flush(false)
	t.tellAll()
	t.result = &r
	t.endUsage(&r, raw)
	t.hangUp()
}

// Interrupt asks the agent to stop, if it has a session.
func (t *acpTalk) Interrupt() bool {
	t.stopAsking()
	t.mu.Lock()
	session := t.session
	t.mu.Unlock()
	if session != "" {
		t.send(acpMessage{Method: acp.AgentMethodSessionCancel, Params: acp.CancelNotification{SessionId: session}})
	}
	return session != ""
}

// verdict is about the answer to the prompt. How the agent exits afterwards
// does not matter: many must be killed.
func (t *acpTalk) verdict(r report) Outcome {
	switch stop := t.st.why(); {
	case stop != nil:
		return *stop
	case t.failed != nil || t.result != nil:
		return t.reached()
	case crashed(r) || r.Code != 0:
		return t.protocol.verdict(r)
	}
	return failed(task.PhaseProtocol, "It ended without answering its prompt"+t.lastWords())
}

// reached is the outcome of a conversation that is over.
func (t *acpTalk) reached() Outcome {
	if t.failed != nil {
		return *t.failed
	}
	switch reason := t.result.StopReason; reason {
	case acp.StopReasonEndTurn:
		return t.summary()
	case acp.StopReasonMaxTokens:
		return failed(task.PhaseTokens, "The agent reached the token limit of its model")
	case acp.StopReasonMaxTurnRequests:
		return failed(task.PhaseTurns, "The agent made as many model calls as it may in a turn")
	case acp.StopReasonRefusal:
		return failed(task.PhaseError, "The agent refused to continue"+t.lastWords())
	case acp.StopReasonCancelled:
		if t.denied != "" {
			return failed(task.PhaseError, "The agent stopped after a call was denied: "+t.denied)
		}
		return failed(task.PhaseError, "The agent says that it was canceled, and nobody asked it to stop")
	default:
		return failed(task.PhaseProtocol, fmt.Sprintf("It stopped for the unknown reason %.100q", string(reason)))
	}
}

func (t *acpTalk) summary() Outcome {
	last := strings.TrimSpace(t.texts.last())
	switch {
	case last == "" && t.denied != "":
		return failed(task.PhaseError, "It ended without a result after a call was denied: "+t.denied)
	case last == "":
		return failed(task.PhaseError, "It ended without a result")
	}
	return Outcome{Status: task.RunCompleted, Phase: task.PhaseEnded, Summary: lastChars(last, task.MaxSummaryRun)}
}
