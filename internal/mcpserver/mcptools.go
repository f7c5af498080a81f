// Package mcpserver serves Taskyard over the Model Context Protocol: tools for
// agents, one resource and one prompt, on the same service as all other
// interfaces. A failure of the domain is a tool result with isError, never a
// protocol error. No state is kept between requests.
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

// Options configures the handler.
type Options struct {
	Service *service.Service
	Log     *slog.Logger // nil: slog.Default
	Version string
}

// profile is a set of tools.
type profile string

// The profiles that a caller can select with ?profile=, and that of callers
// without any rights.
const (
	profileFull profile = "all"
	profileCore profile = "core"
	profileNone profile = "none of the tools"
)

// profileIn returns the profile that a request selects; the default is all
// tools.
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

// New returns the handler of /mcp. It expects task.WithActor in the context of
// each request; the caller must have checked token, Host and Origin.
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
		DisableLocalhostProtection: true, // the caller checks host names
	})
	return h
}

// server returns a server with the tools of a profile. It is shared by all
// callers of the profile, so that requests do not build schemas.
func (h *handler) server(p profile) *mcp.Server {
	s := mcp.NewServer(h.self, &mcp.ServerOptions{
		Instructions: instructions,
		// The lists never change during a session, so no changes are announced.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
		},
		// Lists and reads depend on the caller.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	s.AddReceivingMiddleware(h.survive, introduce)
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

// lists reports whether a tool is listed: delegation tools are not if nobody
// may delegate.
func (h *handler) lists(t tool) bool { return !t.delegates || h.svc.Delegates() }

// serverFor returns the server of a request's profile; for an agent without the
// capability tasks, one without tools.
func (h *handler) serverFor(r *http.Request) *mcp.Server {
	if h.svc.CheckUsesTasks(task.ActorFromContext(r.Context())) != nil {
		return h.servers[profileNone]
	}
	return h.servers[profileIn(r)]
}
