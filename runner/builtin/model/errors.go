package model

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of failure.
type Kind string

// The kinds of failures.
const (
	KindAuth       Kind = "auth"       // the key is missing or rejected
	KindQuota      Kind = "quota"      // the account has no credit left
	KindRequest    Kind = "request"    // the provider rejects the request: an unknown model, an invalid schema
	KindContext    Kind = "context"    // the conversation is too long for the model
	KindRate       Kind = "rate"       // too many requests
	KindOverload   Kind = "overload"   // the provider is overloaded
	KindServer     Kind = "server"     // the provider failed
	KindConnection Kind = "connection" // no connection, or it broke off
	KindProtocol   Kind = "protocol"   // the answer violates the protocol
)

// Error is the reason of a failed turn.
type Error struct {
	Kind    Kind
	Status  int           // HTTP status; 0: there was none, or the reply had begun
	Message string        // message of the provider, at most 500 characters
	After   time.Duration // when the provider allows a retry; 0: unspecified
}

func (e *Error) Error() string {
	words := map[Kind]string{
		KindAuth: "the provider refused the key", KindQuota: "nothing is left on the provider's account",
		KindRequest: "the provider does not take the request",
		KindContext: "the conversation is too long for the model", KindRate: "too many requests for the provider",
		KindOverload: "the provider is overloaded",
		KindServer:   "the provider failed", KindConnection: "the connection to the provider failed",
		KindProtocol: "the provider's answer makes no sense",
	}[e.Kind]
	if e.Status != 0 {
		words += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Message != "" {
		words += ": " + e.Message
	}
	return words
}

// Temporary reports whether a retry may help.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRate, KindOverload, KindServer, KindConnection:
		return true
	}
	return false
}

const maxMessage = 500 // characters of a provider's message

// failure converts a provider's error. The status determines its kind, or the
// words if the reply had begun.
func failure(status int, words, message string) *Error {
	message = strings.TrimSpace(message)
	if r := []rune(message); len(r) > maxMessage {
		message = string(r[:maxMessage-1]) + "…"
	}
	return &Error{Kind: errorKind(status, strings.ToLower(words), strings.ToLower(message)), Status: status, Message: message}
}

func errorKind(status int, words, message string) Kind {
	refused := status/100 == 4 && status != http.StatusTooManyRequests // rate limits use the same words
	switch {
	case containsAny(words, "context_length", "context_window") || refused && isContextError(message) ||
		status == http.StatusRequestEntityTooLarge:
		return KindContext
	case containsAny(words, "insufficient_quota", "billing") || status == http.StatusPaymentRequired:
		return KindQuota
	case status == http.StatusUnauthorized || status == http.StatusForbidden ||
		containsAny(words, "authentication", "permission", "invalid_api_key"):
		return KindAuth
	case status == http.StatusTooManyRequests || containsAny(words, "rate_limit"):
		return KindRate
	case status == http.StatusServiceUnavailable || status == 529 || containsAny(words, "overloaded"):
		return KindOverload
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status >= 500:
		return KindServer
	case containsAny(words, "server_error", "api_error", "timeout", "internal") || status == 0 && words == "":
		return KindServer
	}
	return KindRequest
}

// isContextError recognizes the messages of providers that have no code for this
// error.
func isContextError(message string) bool {
	return containsAny(message, "maximum context length", "prompt is too long", "context length",
		"context window", "context size", "exceed context limit", "too many tokens")
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// connectionError returns the error of a failed connection, or the cause of an ended
// context.
func connectionError(ctx context.Context, message string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := failure(0, "", message)
	e.Kind = KindConnection
	return e
}

func protocolError(format string, args ...any) *Error {
	e := failure(0, "", fmt.Sprintf(format, args...))
	e.Kind = KindProtocol
	return e
}
