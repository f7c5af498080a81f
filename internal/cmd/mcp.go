//go:build !windows

package cmd

import (
	"errors"

	"taskyard/internal/client"
	"taskyard/internal/mcpserver"
)

// exitUnreached is the exit code if no server answers.
const exitUnreached = 4

type mcpCmd struct {
	Profile string `enum:"all,core" default:"all" help:"Set of tools: all, or core, the eleven that every agent needs." placeholder:"all|core"`
}

// Run bridges stdin and stdout to Taskyard's MCP server, for agents that start
// their MCP servers as programs. The token is never an argument, because any
// account of the machine can read those.
func (c *mcpCmd) Run(e *Env) error {
	address, token, err := clientEnv(e).Connection()
	if err != nil {
		return err
	}
	base, transport := client.BaseURL(address)
	err = mcpserver.Bridge(e.Ctx, mcpserver.BridgeOptions{
		URL: base, HTTP: transport, Token: token, Profile: c.Profile, Stdin: e.Stdin, Stdout: e.Stdout,
	})
	if errors.Is(err, mcpserver.ErrNotReached) {
		return &exitError{exitUnreached, err}
	}
	return err
}
