package model

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Kind says what sort of failure it was.
type Kind string

// The kinds of failures.
const (
	KindAuth       Kind = "auth"       // the key is missing or refused
	KindQuota      Kind = "quota"      // nothing is left on the account
	KindRequest    Kind = "request"    // the provider does not take the request: an unknown model, a wrong schema
	KindContext    Kind = "context"    // the conversation is too long for the model
	KindRate       Kind = "rate"       // too many requests
	KindOverload   Kind = "overload"   // the provider has no room
	KindServer     Kind = "server"     // the provider failed
	KindConnection Kind = "connection" // no connection, or it broke off
	KindProtocol   Kind = "protocol"   // the answer is not what was agreed
)

// Error is why a turn failed.
type Error struct {
	Kind    Kind
	Status  int           // of HTTP; 0: there was none, or the reply had begun
	Message string        // what the provider says, at most 500 characters
	After   time.Duration // when the provider says to ask again; 0: it does not
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

// Temporary reports whether asking again may help.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRate, KindOverload, KindServer, KindConnection:
		return true
	}
	return false
}

const maxMessage = 500 // characters of what a provider says

// failure makes an error of what a provider said: the status, or the words
// for it where the reply had begun, decide on the kind.
func failure(status int, words, message string) *Error {
	message = strings.TrimSpace(message)
	if r := []rune(message); len(r) > maxMessage {
		message = string(r[:maxMessage-1]) + "…"
	}
	return &Error{Kind: errorKind(status, strings.ToLower(words), strings.ToLower(message)), Status: status, Message: message}
}

func errorKind(status int, words, message string) Kind {
	refused := status/100 == 4 && status != http.StatusTooManyRequests // a limit of rate has the same words
	switch {
	case holds(words, "context_length", "context_window") || refused && tooLong(message) || status == http.StatusRequestEntityTooLarge:
		return KindContext
	case holds(words, "insufficient_quota", "billing") || status == http.StatusPaymentRequired:
		return KindQuota
	case status == http.StatusUnauthorized || status == http.StatusForbidden ||
		holds(words, "authentication", "permission", "invalid_api_key"):
		return KindAuth
	case status == http.StatusTooManyRequests || holds(words, "rate_limit"):
		return KindRate
	case status == http.StatusServiceUnavailable || status == 529 || holds(words, "overloaded"):
		return KindOverload
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status >= 500:
		return KindServer
	case holds(words, "server_error", "api_error", "timeout", "internal") || status == 0 && words == "":
		return KindServer
	}
	return KindRequest
}

// tooLong knows the words of providers that have no code for it.
func tooLong(message string) bool {
	return holds(message, "maximum context length", "prompt is too long", "context length",
		"context window", "context size", "exceed context limit", "too many tokens")
}

func holds(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// broken is the error of a connection that failed, or the cause of a context
// that ended.
func broken(ctx context.Context, message string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := failure(0, "", message)
	e.Kind = KindConnection
	return e
}

func senseless(format string, args ...any) *Error {
	e := failure(0, "", fmt.Sprintf(format, args...))
	e.Kind = KindProtocol
	return e
}
