package mcpserver

import (
	"context"
	_ "embed"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"taskyard/task"
)

//go:embed guide.md
var guide string

// instructions are read at the start of every session: the shortest introduction.
const instructions = "Taskyard manages your work. signup_for_task claims your next task; " +
	"plan it with update_steps, mark steps with update_step, " +
	"ask people with notify_user, hand over with move_task, finish with complete_task. The prompt work-guide has details."

// introduce begins the instructions for an agent with its ID: tools require it,
// and a client has only a token.
func introduce(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		actor := task.ActorFromContext(ctx)
		if err != nil || !actor.IsAgent() {
			return res, err
		}
		hello := "You are the agent " + actor.Name + ". "
		switch r := res.(type) {
		case *mcp.InitializeResult:
			r.Instructions = hello + r.Instructions
		case *mcp.DiscoverResult:
			r.Instructions = hello + r.Instructions
		}
		return res, nil
	}
}

func (h *handler) addGuide(s *mcp.Server) {
	const doc = "How to claim, plan, hand over, delegate, ask and finish"
	s.AddPrompt(&mcp.Prompt{Name: "work-guide", Title: "Work guide", Description: doc},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{
				Description: doc,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: guide}}},
			}, nil
		})
}
