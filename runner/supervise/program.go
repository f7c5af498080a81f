package supervise

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"taskyard/task"
)

// Program describes how to start the program of a runner.
type Program struct {
	Argv  []string          // the program and its first arguments, never the prompt
	Env   map[string]string // variables for the program; names that begin with TASKYARD_ are skipped
	Grace time.Duration     // time between the steps of a stop; 0: 5 s
	Shim  []string          // command line of the shim; nil: this binary with ShimArg

	Confine Confinement // of the program and its descendants
}

// Conversation describes what a program is started with and who reads its output.
type Conversation struct {
	Reader Reader
	Args   []string // appended to those of the program
	Input  string   // the first text written to stdin
}

// Prompt returns the text for a program: system prompt, blank line, prompt.
func Prompt(plan task.Spec) string {
	text := plan.Prompt + "\n"
	if plan.SystemPrompt != "" {
		text = plan.SystemPrompt + "\n\n" + text
	}
	return text
}

// With returns the program with the given arguments if it has none, and with
// additional variables, which its own take precedence over.
func (p Program) With(argv []string, env map[string]string) Program {
	if len(p.Argv) == 0 {
		p.Argv = argv
	}
	vars := map[string]string{}
	maps.Copy(vars, env)
	maps.Copy(vars, p.Env)
	p.Env = vars
	return p
}

func (p Program) grace() time.Duration {
	if p.Grace > 0 {
		return p.Grace
	}
	return DefaultGrace
}

// LookPath returns the absolute path of a command line's program.
func LookPath(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New("no program is configured")
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", fmt.Errorf("the program %s cannot be started: %w", argv[0], errors.Unwrap(err))
	}
	return filepath.Abs(path)
}

// versionTime is how long a program may take to print its version.
const versionTime = 10 * time.Second

// Probe completes the description of a kind with what this machine has: the
// path of the program and, if versionArgs are given, the first line that it
// prints with them, at most 200 characters, within 10 s.
func (p Program) Probe(ctx context.Context, kind Probe, versionArgs ...string) Probe {
	path, err := LookPath(p.Argv)
	if err != nil {
		kind.Problem = err.Error()
		return kind
	}
	kind.Installed, kind.Path = true, path
	if len(versionArgs) > 0 {
		kind.Version, kind.Problem = p.version(ctx, append([]string{path}, versionArgs...))
	}
	return kind
}

func (p Program) version(ctx context.Context, argv []string) (version, problem string) {
	p.Argv, p.Grace = argv, min(p.grace(), time.Second)
	out, err := p.runAlone(ctx, versionTime, discardSink{}, func(r *Run) Reader { return r })
	if err != nil || out.Status != task.RunCompleted {
		return "", "it does not tell its version: " + out.Reason
	}
	line, _, _ := strings.Cut(out.Summary, "\n")
	return task.ClipChars(strings.TrimSpace(line), 200), ""
}

// discardSink is a sink that does not care.
type discardSink struct{}

func (discardSink) Started(Process) error { return nil }
func (discardSink) Event(Event)           {}

// Run starts the program for a run and returns when its whole process tree has
// ended. prepare is called when the folders of the run exist. Values of
// variables whose names mark them as secret are redacted.
func (p Program) Run(ctx context.Context, spec Spec, sink Sink, prepare func(*Run) (Conversation, error)) (Outcome, error) {
	if ctx.Err() != nil {
		return Canceled(context.Cause(ctx)), nil
	}
	path, err := LookPath(p.Argv)
	if err != nil {
		return Permanent(task.PhaseError, err.Error()), nil
	}
	if refused, err := MakeFolders(ctx, spec); refused != nil {
		return *refused, err
	}
	env := Environment(spec, p.Env)
	spec.Secrets = append(slices.Clone(spec.Secrets), secretsIn(env)...)
	r := NewRun(spec, sink)
	r.grace = p.grace()
	defer r.EndSoon(nil)
	conversation, err := prepare(r)
	if err != nil {
		return Failed(task.PhaseError, "The run could not be prepared"), err
	}
	end, err := supervise(ctx, program{
		RunID: spec.RunID, Argv: slices.Concat([]string{path}, p.Argv[1:], conversation.Args), Env: env, Dir: r.Work, Input: conversation.Input,
		Limits: spec.Plan.Limits, Grace: p.grace(), Shim: p.Shim, Rules: p.Confine.Rules(spec, p.Env),
	}, conversation.Reader)
	out := outcome(p.Argv[0], end, err, conversation.Reader)
	conversation.Reader.End(&out)
	if err == nil {
		r.noteLeftover(end)
	}
	out.Session = r.kept
	r.out.Close()
	if startFailure(err) != nil {
		err = nil
	}
	return out, err
}

// noteLeftover notes which processes the program left behind.
func (r *Run) noteLeftover(end ending) {
	if n := end.Report.Leftover + end.Swept; n > 0 {
		r.out.note(fmt.Sprintf("The program left processes running; they were stopped: %d.", n))
	}
	if n := end.Report.Survivors; n > 0 {
		r.out.note(fmt.Sprintf("%d processes could not be killed and may still run.", n))
	}
}

// outcome returns the verdict, including usage.
func outcome(name string, end ending, err error, reader Reader) Outcome {
	var out Outcome
	no := startFailure(err)
	switch {
	case no != nil:
		out = Failed(task.PhaseError, fmt.Sprintf("The program %s cannot be started: %v", name, err))
		out.Permanent = !no.transient
	case end.Report.Over != "":
		out = Failed(task.PhaseError, "It had "+end.Report.Over)
	case end.Stop != nil:
		out = *end.Stop
	case err != nil:
		out = Failed(task.PhaseError, "The program could not be supervised")
	default:
		out = reader.Verdict(Exit{Code: end.Report.Code, Signal: end.Report.Signal, Lost: !end.Report.Ended})
	}
	reader.run().close(&out)
	return out
}

// Output handles the next bytes of a stream, all of which are progress.
func (r *Run) Output(from Stream, b []byte) bool {
	if !r.raw || from != Stdout {
		b = r.streams[from].red.Write(b)
	}
	r.streams[from].lines.Write(b)
	return true
}

// Quiet passes on the beginning of a line, unless lines are raw.
func (r *Run) Quiet(from Stream) {
	if !r.raw || from != Stdout {
		r.streams[from].lines.Flush()
	}
}

// Closed handles the end of a stream.
func (r *Run) Closed(from Stream) {
	if !r.raw || from != Stdout {
		r.streams[from].lines.Write(r.streams[from].red.Close())
	}
	r.streams[from].lines.Close()
}

// isFlooded reports whether there is so much output that reading may slow down.
func (r *Run) isFlooded() bool { return r.out.overflowed || r.streams[Stdout].lines.long }

// End adds nothing to the transcript.
func (r *Run) End(*Outcome) {}

func (r *Run) run() *Run { return r }

// ReadLines passes each line of stdout to line; b is valid only during the
// call. Lines are redacted unless raw is true: then everything that is reported
// must be redacted, as the methods of Run do.
func (r *Run) ReadLines(raw bool, line func(kind LineKind, b []byte)) {
	r.raw, r.streams[Stdout].lines.emit = raw, line
}

// Verdict returns the outcome of a program that prints text: completed if it
// exited with code 0 and printed anything.
func (r *Run) Verdict(e Exit) Outcome {
	if abnormal := r.Abnormal(e); abnormal != nil {
		return *abnormal
	}
	return r.Judge(nil)
}

// Abnormal returns the outcome of a program that crashed or exited with a code
// other than 0, with its last output; nil for others.
func (r *Run) Abnormal(e Exit) *Outcome {
	var out Outcome
	switch {
	case e.Lost:
		out = Failed(task.PhaseCrash, "Its supervising process was killed")
	case e.Signal != 0:
		out = Failed(task.PhaseCrash, fmt.Sprintf("It was killed by signal %d (%v)", e.Signal, syscall.Signal(e.Signal))+r.LastOutput())
	case e.Code != 0:
		out = Failed(task.PhaseError, fmt.Sprintf("It ended with exit code %d", e.Code)+r.LastOutput())
	default:
		return nil
	}
	return &out
}
