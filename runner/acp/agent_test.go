//go:build linux

package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"taskyard/runner/runnertest"
)

// heard is one message that the scripted agent read.
type heard struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// play speaks the Agent Client Protocol, with the misbehavior that args[0] names.
// It logs its input to the file heard in its folder.
func play(args []string) {
	how := args[0]
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	log, _ := os.Create("heard")
	say := func(format string, list ...any) { fmt.Printf(format+"\n", list...) }
	update := func(format string, list ...any) {
		say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":`+format+`}}`, list...)
	}
	var prompt json.RawMessage
	name, meta := "script", ""
	switch how {
	case "quota":
		meta = `,"_meta":{"quota":{"token_count":{"input_tokens":300,"output_tokens":21}}}`
	case "OpenCode":
		name = how
	}
	finish := func(reason string) {
		say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q,"usage":{"inputTokens":30,"outputTokens":5,"totalTokens":35}%s}}`, prompt, reason, meta)
	}
	ask := func(kind, title string) {
		say(`{"jsonrpc":"2.0","id":"p1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c9","kind":%q,"title":%q,"rawInput":{"x":1}},"options":[{"optionId":"always","name":"A","kind":"allow_always"},{"optionId":"once","name":"O","kind":"allow_once"},{"optionId":"no","name":"N","kind":"reject_once"}]}}`, kind, title)
	}
	signedIn := false
	for in.Scan() {
		_, _ = log.Write(append(in.Bytes(), '\n'))
		var m heard
		_ = json.Unmarshal(in.Bytes(), &m)
		switch m.Method {
		case "initialize":
			version, http := 1, !slices.Contains(args, "nohttp")
			if how == "version" {
				version = 9
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%d,"agentCapabilities":{"mcpCapabilities":{"http":%v}},"authMethods":[{"id":"oauth","name":"Browser"},{"id":"x-api-key","name":"Key"}],"agentInfo":{"name":%q,"version":"1"}}}`, m.ID, version, http, name)
		case "authenticate":
			signedIn = true
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "session/new":
			if how == "noauth" || how == "key" && !signedIn {
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, m.ID)
				continue
			}
			models := ""
			if how == "models" {
				models = `,"models":{"currentModelId":"big","availableModels":[{"modelId":"big","name":"B"},{"modelId":"$runtime|openai|small(openai)","name":"S"}]}`
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"%s}}`, m.ID, models)
		case "session/set_model":
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "session/prompt":
			prompt = m.ID
			switch how {
			case "hang", "deaf":
				_ = exec.Command("/bin/sh", "-c", "sleep 600 & echo").Run()
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I think."}}`)
			case "crash":
				os.Exit(7)
			case "eof":
				return
			case "error":
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":"boom"}}}`, m.ID)
			case "garbage":
				say("Loading…\n{not json\n[1]\n{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":7}")
				say(`{"jsonrpc":"2.0","id":77,"result":{}}` + "\n" +
					`{"jsonrpc":"2.0","id":"f","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`)
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Fine."}}`)
				finish("end_turn")
			case "flood":
				for range 20000 {
					update(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read"}`)
				}
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Fine."}}`)
				finish("end_turn")
				return // immediately: the response must not be lost
			case "pester":
				for i := range 5000 {
					say(`{"jsonrpc":"2.0","id":%d,"method":"terminal/create","params":{}}`, i)
				}
				runnertest.Hang()
			case "leak": // prints its secrets in chunks, then with "error" in one piece
				q := func(s string) string { b, _ := json.Marshal(s); return string(b) }
				token, login := os.Getenv("TASKYARD_TOKEN"), os.Getenv("TEST_DEPLOY_LOGIN")
				update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":%s,"kind":"read","status":"pending","rawInput":{"x":%s}}`,
					q(login), q(token+login))
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":%s}}]}`, q(login+token))
				for _, kind := range []string{"agent_thought_chunk", "agent_message_chunk"} {
					for _, piece := range []string{"it is " + login[:9], login[9:] + token[:5], token[5:]} {
						update(`{"sessionUpdate":%q,"content":{"type":"text","text":%s}}`, kind, q(piece))
					}
				}
				if slices.Contains(args, "error") {
					say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":%s}}}`, prompt, q(login+token))
					continue
				}
				finish("end_turn")
			case "ask":
				ask(args[1], args[2])
			case "ask much":
				ask("execute", strings.Repeat("long ", 400_000))
			case "ask before": // relies on what it reported about the call earlier
				update(`{"sessionUpdate":"tool_call","toolCallId":"c9","kind":"other","title":"deploy","status":"pending","rawInput":{"to":"production"}}`)
				say(`{"jsonrpc":"2.0","id":"p1","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c9"},"options":[{"optionId":"once","name":"O","kind":"allow_once"}]}}`)
			case "calls": // as opencode, Gemini CLI and Qwen Code report them
				update(`{"sessionUpdate":"tool_call","toolCallId":"o","title":"bash","kind":"execute","status":"pending","rawInput":{}}`)
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"o","title":"ls -l","kind":"execute","status":"in_progress","rawInput":{"command":"ls -l"}}`)
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"o","title":"ls -l","status":"in_progress","rawInput":{"command":"ls -l"}}`)
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"o","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a.txt"}}]}`)
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":7}}}`)
				update(`{"sessionUpdate":"tool_call","toolCallId":"never","title":"read a","kind":"read","status":"pending"}`)
				ask("other", "get_task (taskyard MCP Server)")
			default:
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"First "}}`)
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look.\n"}}`)
				update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"cat a","kind":"read","status":"pending"}`)
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"ty_token-of-this-run"}}]}`)
				update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}`)
				if how != "silent" {
					update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"All "}}`)
					update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done."}}`)
				}
				update(`{"sessionUpdate":"usage_update","size":100,"used":10,"cost":{"amount":0.5,"currency":"USD"}}`)
				if reason, ok := strings.CutPrefix(how, "reason:"); ok {
					finish(reason)
				} else {
					finish("end_turn")
				}
				if slices.Contains(args, "closed") {
					_ = os.Stdout.Close()
				}
				if slices.Contains(args, "stay") {
					runnertest.Hang()
				}
			}
		case "session/cancel":
			if how != "deaf" {
				finish("cancelled")
			}
		case "": // a response to its own request
			if how == "calls" {
				update(`{"sessionUpdate":"tool_call_update","toolCallId":"c9","status":"completed","content":[]}`)
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."},"_meta":{"usage":{"inputTokens":200,"outputTokens":9}}}`)
				finish("end_turn")
			}
			if how == "ask" && slices.Contains(args, "cancels") {
				finish("cancelled")
			} else if strings.HasPrefix(how, "ask") {
				var a struct {
					Outcome struct {
						Outcome  string
						OptionID string `json:"optionId"`
					}
				}
				_ = json.Unmarshal(m.Result, &a)
				update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"answer %s %s"}}`, a.Outcome.Outcome, a.Outcome.OptionID)
				finish("end_turn")
			}
		}
	}
	if how == "deaf" {
		runnertest.Hang()
	}
}
