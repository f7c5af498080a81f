//go:build !windows

package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"taskyard/internal/agentfile"
	"taskyard/internal/app"
	"taskyard/internal/client"
	"taskyard/internal/config"
	"taskyard/runner/supervise"
	"taskyard/task"
)

type agentCheckCmd struct {
	settings
	Quiet bool     `short:"q" help:"Print only the verdict and the problems."`
	Files []string `arg:"" name:"file" help:"Definition files, such as coder.md." complete:"file"`
}

// verdict is the result for one file, and the agent that it defines.
type verdict struct {
	File string `json:"file"`
	task.Agent
	TimeoutSeconds     int    `json:"timeoutSeconds"`
	IdleTimeoutSeconds int    `json:"idleTimeoutSeconds"`
	Kind               string `json:"runnerKind,omitempty"`
	Enforced           bool   `json:"holdsTools"`
	EnforcementGap     string `json:"weaker,omitempty"`
}

var errInvalidAgent = errors.New("not every definition is valid")

// Run checks each file as the server would, and explains it.
func (c *agentCheckCmd) Run(e *Env, ce *client.Env) error {
	ck, err := c.checker(e)
	if err != nil {
		return err
	}
	var list []verdict
	invalid := false
	for _, file := range c.Files {
		v, err := ck.check(e, file)
		if err != nil {
			return err
		}
		invalid = invalid || v.Status == task.AgentInvalid
		list = append(list, v)
	}
	if ce.JSON {
		err = json.NewEncoder(e.Stdout).Encode(map[string]any{"agents": list})
	} else {
		for i := range list {
			sayVerdict(e.Stdout, &list[i])
			if !c.Quiet {
				list[i].explain(e.Stdout)
			}
		}
	}
	if err == nil && invalid {
		return errInvalidAgent
	}
	return err
}

// checker checks files against the configuration of an instance.
type checker struct {
	cfg   *config.Config
	known map[string]supervise.Runner
	opt   agentfile.Options
}

// checker loads the configuration: the one that is named, or else that of the
// instance whose agents folder contains the first file, or else that of ./data.
// Without one, nothing is known about runners.
func (c *agentCheckCmd) checker(e *Env) (*checker, error) {
	named := c.Data != "" || c.Config != ""
	if dir, ok := instanceOfFile(c.Files[0]); !named && ok {
		c.Data, named = dir, true
	}
	cfg, _, err := c.load(e, nil)
	if err != nil {
		return nil, err
	}
	ck := &checker{cfg: cfg, known: app.Runners(cfg), opt: app.AgentOptions(cfg)}
	if _, err := os.Stat(filepath.Join(cfg.Data, "taskyard.toml")); !named && err != nil {
		ck.opt.AnyRunner = true
	}
	return ck, nil
}

// instanceOfFile finds the data folder whose agents folder contains a file.
func instanceOfFile(file string) (string, bool) {
	agents, err := filepath.Abs(filepath.Dir(file))
	if err != nil || filepath.Base(agents) != "agents" {
		return "", false
	}
	dir := filepath.Dir(agents)
	for _, path := range []string{filepath.Join(dir, "taskyard.toml"), app.DBPath(dir)} {
		if _, err := os.Stat(path); err == nil {
			return dir, true
		}
	}
	return "", false
}

func (ck *checker) check(e *Env, file string) (verdict, error) {
	f, err := client.OpenUntil(e.Ctx, file)
	if err != nil {
		return verdict{}, &usageError{err.Error()}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, agentfile.MaxFile+1))
	if errors.Is(err, client.ErrInterrupted) {
		return verdict{}, err
	}
	if err != nil {
		return verdict{}, &usageError{err.Error()}
	}
	a := agentfile.Parse(strings.TrimSuffix(filepath.Base(file), ".md"), string(text), ck.opt)
	v := verdict{File: file, Agent: a, Kind: ck.opt.Runners[a.Runner].Name}
	if v.EnforcementGap = app.EnforcementGap(ck.cfg, ck.known, a.Runner, a.Tools); v.EnforcementGap == "" && v.Kind != "" {
		v.Enforced = true
	}
	v.TimeoutSeconds = seconds(a.Timeout, ck.cfg.Runs.Timeout)
	v.IdleTimeoutSeconds = seconds(a.IdleTimeout, ck.cfg.Runs.IdleTimeout)
	return v, nil
}

// seconds returns the agent's own time limit, or else that of the
// configuration.
func seconds(own, configured time.Duration) int {
	return int(cmp.Or(own, configured).Seconds())
}
