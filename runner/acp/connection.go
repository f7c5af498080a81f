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

// connection is one conversation with an agent: initialize, session/new,
// session/prompt. Its types are those of the SDK, but not its connection, which
// closes when updates arrive faster than they are stored, and starts one
// goroutine per request of the agent.
type connection struct {
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

func newConnection(ctx context.Context, bridge []string) *connection {
	conn := &connection{bridge: bridge, tools: map[acp.ToolCallId]*tool{}}
	conn.asking, conn.stopAsking = context.WithCancel(ctx)
	return conn
}

// read attaches the conversation to a run.
func (conn *connection) read(r *supervise.Run) {
	conn.Run = r
	r.ReadLines(false, conn.line)
}

// Begin sends the first message.
func (conn *connection) Begin() {
	conn.request(acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "taskyard", Version: "1"},
	}, conn.initialized)
}

func (conn *connection) Output(s supervise.Stream, b []byte) bool {
	conn.reportDecisions()
	return conn.Run.Output(s, b)
}

func (conn *connection) Quiet(s supervise.Stream) {
	conn.reportDecisions()
	if s == supervise.Stdout {
		conn.flush(true)
	}
	conn.Run.Quiet(s)
}

func (conn *connection) Closed(s supervise.Stream) {
	conn.Run.Closed(s)
	if s == supervise.Stdout {
		conn.stopAsking()
		conn.flush(false)
		conn.reportPendingCalls()
	}
}

// finish closes stdin. An agent that keeps running is stopped, with the outcome
// that it has reached.
func (conn *connection) finish() {
	conn.mu.Lock()
	conn.session = "" // there is nothing left to cancel
	conn.mu.Unlock()
	conn.CloseInput()
	conn.EndSoon(new(conn.outcome()))
}

// initialized opens a session with our MCP server.
func (conn *connection) initialized(raw json.RawMessage) {
	var r acp.InitializeResponse
	if !conn.decode(raw, &r) {
		return
	}
	if r.ProtocolVersion != acp.ProtocolVersionNumber {
		conn.fail(supervise.Permanent(task.PhaseProtocol, fmt.Sprintf("It speaks version %d of the Agent Client Protocol, not %d",
			r.ProtocolVersion, acp.ProtocolVersionNumber)))
		return
	}
	if r.AgentInfo != nil {
		conn.agent = r.AgentInfo.Name
		version := r.AgentInfo.Name + " " + r.AgentInfo.Version
		conn.Event(supervise.EventLog, version, map[string]any{"version": version}, raw)
	}
	conn.open(r, true)
}

// open requests a session. If the agent requires authentication first, it is
// told once to use its key.
func (conn *connection) open(r acp.InitializeResponse, first bool) {
	conn.request(acp.AgentMethodSessionNew, acp.NewSessionRequest{
		Cwd:        conn.Work,
		McpServers: conn.servers(r.AgentCapabilities.McpCapabilities),
	}, conn.opened)
	method := keyMethod(r.AuthMethods)
	if !first || method == "" {
		return
	}
	conn.onError = func(e *acp.RequestError) {
		if e.Code != authRequired {
			conn.handleError(e)
			return
		}
		conn.request(acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: method}, func(json.RawMessage) { conn.open(r, false) })
		conn.onError = func(e *acp.RequestError) { conn.fail(supervise.RefusedCredentials(e.Message)) }
	}
}

// opened sets the model, if one is configured and the agent offers a choice.
func (conn *connection) opened(raw json.RawMessage) {
	var r acp.NewSessionResponse
	if !conn.decode(raw, &r) {
		return
	}
	conn.mu.Lock()
	conn.session = r.SessionId
	conn.mu.Unlock()
	conn.Event(supervise.EventLog, "session "+string(r.SessionId), map[string]any{"sessionId": r.SessionId}, raw)
	model := conn.Spec.Plan.Model
	switch {
	case model == "" || r.Models != nil && modelName(r.Models.CurrentModelId) == model:
		conn.prompt(nil)
	case r.Models == nil || len(r.Models.AvailableModels) == 0:
		conn.Event(supervise.EventLog, "The agent offers no choice of models; "+model+" was not set.", nil, raw)
		conn.prompt(nil)
	default:
		conn.choose(model, r.Models.AvailableModels)
	}
}

func (conn *connection) choose(model string, offered []acp.ModelInfo) {
	var names []string
	for _, m := range offered {
		if string(m.ModelId) == model || modelName(m.ModelId) == model {
			conn.request(acp.AgentMethodSessionSetModel,
				acp.UnstableSetSessionModelRequest{SessionId: conn.session, ModelId: acp.UnstableModelId(m.ModelId)}, conn.prompt)
			return
		}
		names = append(names, modelName(m.ModelId))
	}
	conn.fail(supervise.Permanent(task.PhaseError, "It does not offer the model "+model+": it has "+strings.Join(names, ", ")))
}

// modelName returns the model name within an ID that also contains its
// provider: Qwen Code uses "$runtime|openai|qwen3-coder(openai)".
func modelName(id acp.ModelId) string {
	name, _, _ := strings.Cut(string(id)[strings.LastIndex(string(id), "|")+1:], "(")
	return name
}

func (conn *connection) prompt(json.RawMessage) {
	conn.turn(strings.TrimSuffix(supervise.Prompt(conn.Spec.Plan), "\n"))
}

// turn prompts the agent. The answer begins a new text.
func (conn *connection) turn(text string) {
	conn.texts.messageEnded = true
	conn.request(acp.AgentMethodSessionPrompt,
		acp.PromptRequest{SessionId: conn.session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}, conn.prompted)
}

// prompted handles the end of a turn. Messages that people sent in the meantime
// start the next turn; without any, the conversation ends.
func (conn *connection) prompted(raw json.RawMessage) {
	var r acp.PromptResponse
	if !conn.decode(raw, &r) {
		return
	}
	conn.flush(false)
	conn.reportPendingCalls()
	conn.endUsage(&r, raw)
	if r.StopReason == acp.StopReasonEndTurn && conn.Stopped() == nil {
		if texts := conn.Messages(); len(texts) > 0 {
			conn.turn(strings.Join(texts, "\n\n"))
			return
		}
	}
	conn.result = &r
	conn.finish()
}

// Interrupt asks the agent to stop, if it has a session.
func (conn *connection) Interrupt() bool {
	conn.stopAsking()
	conn.mu.Lock()
	session := conn.session
	conn.mu.Unlock()
	if session != "" {
		conn.send(message{Method: acp.AgentMethodSessionCancel, Params: acp.CancelNotification{SessionId: session}})
	}
	return session != ""
}

// Verdict depends on the response to the prompt. The exit status does not
// matter, because many agents must be killed.
func (conn *connection) Verdict(e supervise.Exit) supervise.Outcome {
	switch stop := conn.Stopped(); {
	case stop != nil:
		return *stop
	case conn.failed != nil || conn.result != nil:
		return conn.outcome()
	}
	if abnormal := conn.Abnormal(e); abnormal != nil {
		return *abnormal
	}
	return supervise.Failed(task.PhaseProtocol, "It ended without answering its prompt"+conn.LastOutput())
}

// outcome returns the outcome of a finished conversation.
func (conn *connection) outcome() supervise.Outcome {
	if conn.failed != nil {
		return *conn.failed
	}
	switch reason := conn.result.StopReason; reason {
	case acp.StopReasonEndTurn:
		return conn.summary()
	case acp.StopReasonMaxTokens:
		return supervise.Failed(task.PhaseTokens, "The agent reached the token limit of its model")
	case acp.StopReasonMaxTurnRequests:
		return supervise.Failed(task.PhaseTurns, "The agent made as many model calls as it may in a turn")
	case acp.StopReasonRefusal:
		return supervise.Failed(task.PhaseError, "The agent refused to continue"+conn.LastOutput())
	case acp.StopReasonCancelled:
		if conn.denied != "" {
			return supervise.Failed(task.PhaseError, "The agent stopped after a call was denied: "+conn.denied)
		}
		return supervise.Failed(task.PhaseError, "The agent reports that it was canceled, but nobody canceled it")
	default:
		return supervise.Failed(task.PhaseProtocol, fmt.Sprintf("It stopped for the unknown reason %.100q", string(reason)))
	}
}

func (conn *connection) summary() supervise.Outcome {
	last := conn.texts.message.Last(task.MaxSummaryRun)
	switch {
	case last == "" && conn.denied != "":
		return supervise.Failed(task.PhaseError, supervise.NoResult+" after a call was denied: "+conn.denied)
	case last == "":
		return supervise.Failed(task.PhaseError, supervise.NoResult)
	}
	return supervise.Completed(last)
}
