package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// rpcError is the JSON-RPC answer to an invalid request.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null if unknown
	Error   struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newRPCError(id json.RawMessage, code int64, format string, args ...any) []byte {
	e := rpcError{Version: "2.0", ID: id}
	if len(id) == 0 {
		e.ID = json.RawMessage("null")
	}
	e.Error.Code, e.Error.Message = code, fmt.Sprintf(format, args...)
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // a plain struct
	}
	return b
}

// parseFailure returns the JSON-RPC error for a body that is not a valid message.
// why is the SDK's text. The status is 400, or 200 for an unknown method.
func parseFailure(body []byte, why string) (status int, answer []byte) {
	if !json.Valid(body) {
		return http.StatusBadRequest, newRPCError(nil, jsonrpc.CodeParseError, "Parse error: the body is not JSON")
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(body, &m) == nil && strings.HasPrefix(why, "JSON RPC not handled") {
		return http.StatusOK, newRPCError(m.ID, jsonrpc.CodeMethodNotFound, "Method not found: %.100s", m.Method)
	}
	if strings.HasPrefix(why, "malformed payload") {
		return http.StatusBadRequest, newRPCError(nil, jsonrpc.CodeInvalidRequest, notAMessage)
	}
	return http.StatusBadRequest, newRPCError(m.ID, jsonrpc.CodeInvalidRequest, "Invalid request: %s", why)
}

const notAMessage = "Invalid request: it is not a message of JSON-RPC 2.0, an object with jsonrpc, method and usually id"

// refusals converts plain-text errors of the SDK to JSON-RPC answers.
type refusals struct {
	http.ResponseWriter
	text *bytes.Buffer // text of the error; nil: no error
}

// Unwrap is for http.ResponseController.
func (r *refusals) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader holds an error back.
func (r *refusals) WriteHeader(status int) {
	if status == http.StatusBadRequest && strings.HasPrefix(r.Header().Get("Content-Type"), "text/plain") {
		r.text = &bytes.Buffer{}
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *refusals) Write(b []byte) (int, error) {
	if r.text != nil {
		return r.text.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// end writes the answer for an error.
func (r *refusals) end(body []byte) {
	if r.text == nil {
		return
	}
	status, answer := parseFailure(body, strings.TrimSpace(r.text.String()))
	r.Header().Set("Content-Type", "application/json")
	r.Header().Del("Content-Length")
	r.ResponseWriter.WriteHeader(status)
	_, _ = r.ResponseWriter.Write(answer) // the caller may have disconnected
}
