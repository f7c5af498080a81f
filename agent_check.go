package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"taskyard/agentfile"
	"taskyard/cli"
	"taskyard/task"
)

type agentCheckCmd struct {
	settings
	Files []string `arg:"" name:"file" help:"Definition files, such as coder.md." complete:"file"`
}

// verdict is what was found of one file.
type verdict struct {
	File     string           `json:"file"`
	ID       string           `json:"id"`
	Status   task.AgentStatus `json:"status"`
	Problems []task.Problem   `json:"problems"`
}

var errInvalidAgent = errors.New("not every definition is valid")

// Run checks each file as the server would.
func (c *agentCheckCmd) Run(e *env, y *cli.Yard) error {
	cfg, _, err := c.load(e, nil) // names the runners
	if err != nil {
		return err
	}
	var list []verdict
	invalid := false
	for _, file := range c.Files {
		v, err := checkAgent(file, agentOptions(cfg))
		if err != nil {
			return err
		}
		invalid = invalid || v.Status == task.AgentInvalid
		list = append(list, v)
	}
	if y.JSON {
		err = json.NewEncoder(e.stdout).Encode(map[string]any{"agents": list})
	} else {
		for _, v := range list {
			sayVerdict(e.stdout, v)
		}
	}
	if err == nil && invalid {
		return errInvalidAgent
	}
	return err
}

func checkAgent(file string, opt agentfile.Options) (verdict, error) {
	f, err := os.Open(file)
	if err != nil {
		return verdict{}, &usageError{err.Error()}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, agentfile.MaxFile+1))
	if err != nil {
		return verdict{}, &usageError{err.Error()}
	}
	a := agentfile.Parse(strings.TrimSuffix(filepath.Base(file), ".md"), string(text), opt)
	return verdict{file, a.ID, a.Status, a.Problems}, nil
}

// sayVerdict prints a mark and the file, then each finding with line, reason
// and hint.
func sayVerdict(w io.Writer, v verdict) {
	mark := map[task.AgentStatus]string{task.AgentValid: "✓", task.AgentWarning: "⚠", task.AgentInvalid: "✗"}[v.Status]
	fmt.Fprintf(w, "%s %s: %s\n", mark, cli.Printable(v.File), v.Status)
	for _, p := range v.Problems {
		fmt.Fprintf(w, "  %s\n", cli.ProblemLine(p))
	}
}
