package runner

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"taskyard/runner/supervise"
	"taskyard/task"
)

const (
	probeTime     = 15 * time.Second // timeout of one probe
	probesOnce    = 4                // parallel probes
	checkInterval = 15 * time.Second // interval for checking whether programs were installed, changed or removed
	probeFresh    = 10 * time.Second // results that are younger survive a change of definitions
)

// Source is a runner for a Prober.
type Source struct {
	Name, Kind string
	Runner     supervise.Runner // nil: not started here
	Argv       []string         // its program, nil: none
	Remedy     string           // how to fix what is wrong with it; "" for programs
}

// Prober probes runners in the background and caches the results, so that no
// request waits for a program. It is safe for concurrent use.
type Prober struct {
	notify  func()
	wakeup  chan struct{}
	slots   chan struct{}
	flights sync.WaitGroup

	mu    sync.Mutex
	known []*probed // replaced as a whole
	all   bool      // all of them are to be probed
}

// probed is a source with its result.
type probed struct {
	Source
	info task.RunnerInfo
	file string // state of the program's file
	busy bool   // a probe is running
}

// NewProber returns a Prober; Run starts it. tell, if not nil, is called after
// each change of the results, on the prober's goroutines.
func NewProber(sources []Source, tell func()) *Prober {
	return &Prober{
		notify: tell, wakeup: make(chan struct{}, 1), slots: make(chan struct{}, probesOnce), known: unprobed(sources, false),
	}
}

func unprobed(sources []Source, probing bool) []*probed {
	list := make([]*probed, len(sources))
	for i, s := range sources {
		list[i] = &probed{Source: s, info: toRunnerInfo(s, capabilities(s.Kind))}
		list[i].info.Probing = probing
	}
	return list
}

// Use replaces the runners and schedules probes of them. It does not wait; the
// results of running probes are dropped.
func (p *Prober) Use(sources []Source) {
	p.mu.Lock()
	p.known, p.all = unprobed(sources, true), true
	p.mu.Unlock()
	p.kick()
}

// Runners returns the cached results without waiting.
func (p *Prober) Runners() []task.RunnerInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]task.RunnerInfo, len(p.known))
	for i, k := range p.known {
		list[i] = k.info
	}
	return list
}

// Refresh schedules probes of all runners. It does not wait.
func (p *Prober) Refresh() {
	p.mu.Lock()
	p.all = true
	for _, k := range p.known {
		k.info.Probing = true
	}
	p.mu.Unlock()
	p.kick()
}

// Changed reports that definitions changed: runners without a fresh result are
// probed again. It does not wait.
func (p *Prober) Changed() { p.kick() }

func (p *Prober) kick() {
	select {
	case p.wakeup <- struct{}{}:
	default: // a probe is scheduled already
	}
}

// wasRequested reports whether all runners are to be probed, and resets the request.
func (p *Prober) wasRequested() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = false
	return all
}

// Run probes every runner, and again when requested or when a program's file
// changes, until ctx ends. It returns when all of its programs have ended.
func (p *Prober) Run(ctx context.Context) {
	defer p.flights.Wait()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	p.probeAll(ctx, func(*probed) bool { return true })
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wakeup:
			all := p.wasRequested()
			p.probeAll(ctx, func(k *probed) bool { return all || p.isStale(k) })
		case <-tick.C:
			p.probeAll(ctx, p.hasChanged)
		}
	}
}

func (p *Prober) isStale(k *probed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(k.info.ProbedAt.Std()) >= probeFresh
}

// hasChanged reports whether the program's file has changed.
func (p *Prober) hasChanged(k *probed) bool {
	now := programState(k.Argv)
	p.mu.Lock()
	defer p.mu.Unlock()
	return now != k.file
}

// programState identifies the state of a program's file; "": no file.
func programState(argv []string) string {
	path, err := supervise.LookPath(argv)
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return path + " " + strconv.FormatInt(info.Size(), 10) + " " + info.ModTime().String()
}

// probeAll starts the wanted probes, unless they are already running.
func (p *Prober) probeAll(ctx context.Context, want func(*probed) bool) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	for _, k := range known {
		if !want(k) || !p.begin(k) {
			continue
		}
		p.flights.Go(func() {
			select {
			case p.slots <- struct{}{}:
				defer func() { <-p.slots }()
				p.probe(ctx, k)
			case <-ctx.Done():
			}
		})
	}
}

func (p *Prober) begin(k *probed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k.busy {
		return false
	}
	k.busy, k.info.Probing = true, true
	return true
}

// probe probes one runner. Results that were cut off by the end of the server
// are dropped.
func (p *Prober) probe(ctx context.Context, k *probed) {
	s := k.Source
	within, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	file, found := programState(s.Argv), capabilities(s.Kind)
	if s.Runner != nil {
		found = s.Runner.Probe(within)
	}
	if ctx.Err() != nil {
		return
	}
	info := toRunnerInfo(s, found)
	info.ProbedAt = task.TimeFromStd(time.Now())
	p.mu.Lock()
	k.info, k.file, k.busy = info, file, false
	p.mu.Unlock()
	if p.notify != nil {
		p.notify()
	}
}

// capabilities returns what a kind of runner can enforce, before this machine
// is probed.
func capabilities(kind string) supervise.Probe {
	k, _ := FindKind(kind)
	return k.Capabilities
}

func toRunnerInfo(s Source, found supervise.Probe) task.RunnerInfo {
	kind, _ := FindKind(s.Kind)
	info := task.RunnerInfo{
		Title: kind.Title, Lack: kind.Lack,
		Name: s.Name, Kind: s.Kind, Installed: found.Installed, Version: found.Version, Path: found.Path, Problem: found.Problem,
		EnforcesTools: found.EnforcesTools, Tools: found.Tools, Shell: found.Shell, Network: found.Network, Remedy: s.Remedy,
	}
	if s.Runner == nil {
		info.Installed = true // installed elsewhere
	}
	switch {
	case info.Problem == "":
		info.Remedy = ""
	case info.Installed && info.Remedy == "":
		info.Remedy = "Start it by hand with the account of the server and see what it says; agents may work all the same."
	case !info.Installed && s.Argv != nil:
		info.Remedy = "Install it on this machine, or write its full path into command of [runners." +
			s.Name + "]; the server looks for it in its PATH."
	}
	return info
}
