package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// rpcError is the answer of JSON-RPC to a request that could not be taken.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null where it is not known
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

// misread says in JSON-RPC why a body is no message that there is an answer to.
// why is what the SDK says of it. Status: 400, but 200 for a method that there
// is not.
func misread(body []byte, why string) (status int, answer []byte) {
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

// refusals turns what the SDK refuses in plain text into answers of JSON-RPC.
type refusals struct {
	http.ResponseWriter
	said *bytes.Buffer // what it refuses with; nil: it answers
}

// Unwrap is for http.ResponseController.
func (r *refusals) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader keeps a refusal back.
func (r *refusals) WriteHeader(status int) {
	if status == http.StatusBadRequest && strings.HasPrefix(r.Header().Get("Content-Type"), "text/plain") {
		r.said = &bytes.Buffer{}
		return
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *refusals) Write(b []byte) (int, error) {
	if r.said != nil {
		return r.said.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// end answers a refusal.
func (r *refusals) end(body []byte) {
	if r.said == nil {
		return
	}
	status, answer := misread(body, strings.TrimSpace(r.said.String()))
	r.Header().Set("Content-Type", "application/json")
	r.Header().Del("Content-Length")
	r.ResponseWriter.WriteHeader(status)
	_, _ = r.ResponseWriter.Write(answer) // a caller that is gone hears nothing
}
