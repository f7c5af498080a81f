package claude

import (
	"encoding/json"
	"errors"

	"taskyard/runner/supervise"
)

// line is a line of stream-json, with the fields that are used.
type line struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	Session   string          `json:"session_id"`
	Message   message         `json:"message"`  // of assistant and user
	UUID      string          `json:"uuid"`     // of user
	Replay    bool            `json:"isReplay"` // of user: repeats what we have sent
	Parent    string          `json:"parent_tool_use_id"`
	RequestID string          `json:"request_id"` // of control_request
	Request   request         `json:"request"`
	Error     json.RawMessage `json:"error"` // a word, of assistant and api_retry

	// of system/init
	Tools   []string `json:"tools"`
	Model   string   `json:"model"`
	Version string   `json:"claude_code_version"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`

	// of system/api_retry
	Attempt     int     `json:"attempt"`
	MaxRetries  int     `json:"max_retries"`
	Delay       float64 `json:"retry_delay_ms"`
	ErrorStatus int     `json:"error_status"`
}

// readLine parses a line; ok is false if it is not part of this protocol.
// Fields of an unexpected type are left empty, because versions differ.
func readLine(b []byte) (l line, ok bool) {
	if !supervise.IsObject(b) {
		return l, false
	}
	err := json.Unmarshal(b, &l)
	var odd *json.UnmarshalTypeError
	return l, l.Type != "" && (err == nil || errors.As(err, &odd))
}

// word returns the error of a line if it is one word.
func (l *line) word() (word string) {
	_ = json.Unmarshal(l.Error, &word)
	return word
}

type message struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"` // a text, or a list of blocks
	Usage   usage           `json:"usage"`
}

// usage counts tokens. Tokens read from the provider's cache are not counted as
// input: they are the same text in each turn.
type usage struct {
	In      float64 `json:"input_tokens"`
	Written float64 `json:"cache_creation_input_tokens"`
	Out     float64 `json:"output_tokens"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// request is a control request of the program.
type request struct {
	Subtype     string          `json:"subtype"`
	Tool        string          `json:"tool_name"`
	Input       json.RawMessage `json:"input"`
	BlockedPath string          `json:"blocked_path"`
	Reason      string          `json:"decision_reason"`
	ReasonType  string          `json:"decision_reason_type"`
}

// result is the last line of a run.
type result struct {
	Subtype   string                `json:"subtype"`
	IsError   *bool                 `json:"is_error"`
	Result    string                `json:"result"`
	Errors    []string              `json:"errors"`
	Turns     int                   `json:"num_turns"`
	CostUSD   float64               `json:"total_cost_usd"`
	Status    int                   `json:"api_error_status"`
	Terminal  string                `json:"terminal_reason"`
	Usage     usage                 `json:"usage"`
	ByModel   map[string]modelUsage `json:"-"`
	Denied    []denial              `json:"-"`
	malformed bool
}

type modelUsage struct {
	In      float64 `json:"inputTokens"`
	Written float64 `json:"cacheCreationInputTokens"`
	Out     float64 `json:"outputTokens"`
}

type denial struct {
	Tool string `json:"tool_name"`
}

// readResult parses a result. The fields for the verdict must be well-formed;
// numbers may differ in other versions.
func readResult(line []byte) *result {
	res := &result{}
	if json.Unmarshal(line, res) != nil || res.IsError == nil {
		return &result{malformed: true}
	}
	var more struct {
		ByModel map[string]modelUsage `json:"modelUsage"`
	}
	var denied struct {
		List []denial `json:"permission_denials"`
	}
	if json.Unmarshal(line, &more) == nil {
		res.ByModel = more.ByModel
	}
	if json.Unmarshal(line, &denied) == nil {
		res.Denied = denied.List
	}
	return res
}

// blocks parses the content of a message.
func blocks(content json.RawMessage) []block {
	var list []block
	if json.Unmarshal(content, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(content, &text) == nil && text != "" {
		return []block{{Type: "text", Text: text}}
	}
	return nil
}

// plainText returns the text of a content, with placeholders for other types.
func plainText(content json.RawMessage) (text string) {
	for _, b := range blocks(content) {
		if b.Type != "text" {
			b.Text = "[" + b.Type + "]"
		}
		if text != "" {
			text += "\n"
		}
		text += b.Text
	}
	return text
}
