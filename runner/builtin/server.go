package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"taskyard/internal/sleep"
	"taskyard/runner/builtin/model"
	"taskyard/runner/builtin/tools"
	"taskyard/runner/supervise"
	"taskyard/task"
)

const (
	maxServerAnswer = 4 << 20          // bytes
	serverTimeout   = 90 * time.Second // longer than the longest wait of a tool
	listTries       = 3
	listPause       = 200 * time.Millisecond
)

// serverTools calls the tools of Taskyard's own MCP server with the token of
// the run.
type serverTools struct {
	url, token string // an empty url means that there are none
	client     *http.Client
}

func newServerTools(spec supervise.Spec) *serverTools {
	s := &serverTools{token: spec.Token, client: &http.Client{Timeout: serverTimeout, Transport: &http.Transport{}}}
	if spec.URL != "" {
		s.url = strings.TrimRight(spec.URL, "/") + "/mcp"
	}
	return s
}

func (s *serverTools) close() { s.client.CloseIdleConnections() }

// list returns the tools of a profile.
func (s *serverTools) list(ctx context.Context, profile string) (list []model.Tool, err error) {
	if s.url == "" {
		return nil, nil
	}
	var page struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	for try := 1; ; try++ {
		err = s.ask(ctx, "?profile="+profile, "tools/list", struct{}{}, &page)
		if err == nil || try == listTries || ctx.Err() != nil {
			break
		}
		sleep.For(ctx, listPause)
	}
	for _, t := range page.Tools {
		list = append(list, model.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return list, err
}

// taskAnswer is the part of an answer about a task, and the arguments of a summary,
// that is needed here.
type taskAnswer struct {
	ID      task.ID
	Status  task.Status
	Summary string
}

// call calls a tool. A failed request also becomes a result.
func (s *serverTools) call(ctx context.Context, name string, args json.RawMessage) (tools.Result, *taskAnswer) {
	var res struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	err := s.ask(ctx, "", "tools/call", map[string]any{"name": name, "arguments": args}, &res)
	if err != nil {
		return tools.Result{Text: "the server did not accept the call: " + err.Error(), IsError: true}, nil
	}
	a := tools.Result{IsError: res.IsError}
	for _, c := range res.Content {
		a.Text += c.Text
	}
	var k taskAnswer
	var summaryArgs struct{ Summary string }
	if res.IsError || json.Unmarshal(res.StructuredContent, &k) != nil || json.Unmarshal(args, &summaryArgs) != nil {
		return a, nil
	}
	k.Summary = summaryArgs.Summary
	return a, &k
}

// ask sends one JSON-RPC request.
func (s *serverTools) ask(ctx context.Context, query, method string, params, into any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+query, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxServerAnswer+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxServerAnswer:
		return errors.New("its answer is too long")
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("it answered %s: %s", res.Status, task.CutText(strings.TrimSpace(string(text)), 300))
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	if answer.Error != nil {
		return errors.New(answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, into)
}
