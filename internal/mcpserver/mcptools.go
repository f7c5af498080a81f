// Package mcpserver serves Taskyard over the Model Context Protocol: tools for
// agents, one resource and one prompt, over the same service as every other
// surface. A failure of the domain is a tool result with isError, never a
// protocol error; nothing is kept between two requests.
package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/service"
	"taskyard/task"
)

// Options say what is served.
type Options struct {
	Service *service.Service
	Log     *slog.Logger // nil means slog.Default
	Version string
}

// profile is a choice of tools.
type profile string

// The profiles that a caller may ask for by ?profile=, and that of callers
// without the right to any.
const (
	profileFull profile = "all"
	profileCore profile = "core"
	profileNone profile = "none of the tools"
)

// profileIn returns the profile that a request asks for, by default all tools.
func profileIn(r *http.Request) profile {
	return profile(cmp.Or(r.URL.Query().Get("profile"), string(profileFull)))
}

// handler is the handler of /mcp.
type handler struct {
	svc     *service.Service
	log     *slog.Logger
	self    *mcp.Implementation
	servers map[profile]*mcp.Server
	waits   waits
	http    *mcp.StreamableHTTPHandler
}

// New makes the handler of /mcp. It expects task.WithActor in the context of
// each request; the caller has checked token, Host and Origin.
func New(opt Options) http.Handler {
	h := &handler{
		svc: opt.Service, log: opt.Log, servers: map[profile]*mcp.Server{},
		self: &mcp.Implementation{Name: "taskyard", Title: "Taskyard", Version: opt.Version},
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	for _, p := range []profile{profileFull, profileCore, profileNone} {
		h.servers[p] = h.server(p)
	}
	h.http = mcp.NewStreamableHTTPHandler(h.serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1, // bounded by ServeHTTP
		DisableLocalhostProtection: true, // the caller knows which names are ours
	})
	return h
}

// server makes one server with the tools of a profile. It serves every caller
// of the profile, so that no request makes schemas.
func (h *handler) server(p profile) *mcp.Server {
	s := mcp.NewServer(h.self, &mcp.ServerOptions{
		Instructions: instructions,
		// The lists never change while a session lasts: nothing is announced.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		},
		// What is listed and read depends on who asks.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.AddReceivingMiddleware(h.survive)
	if p == profileNone {
		return s
	}
	for _, t := range tools {
		if p == profileCore && !t.core || !h.lists(t) {
			continue
		}
		s.AddTool(t.declared(p), h.toolHandler(t))
	}
	h.addGuide(s)
	h.addResource(s)
	return s
}

// lists reports whether a tool is listed here: those that delegate are not
// where nobody may.
func (h *handler) lists(t tool) bool { return !t.delegates || h.svc.Delegates() }

// serverFor returns the server of a request's profile; an agent without the
// capability tasks gets one without tools.
func (h *handler) serverFor(r *http.Request) *mcp.Server {
	if h.svc.CheckUsesTasks(task.ActorIn(r.Context())) != nil {
		return h.servers[profileNone]
	}
	return h.servers[profileIn(r)]
}
