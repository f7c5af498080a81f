package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskyard/db"
	"taskyard/internal/testkit"
	"taskyard/service"
	"taskyard/task"
)

// peerPlace is a database on which Taskyard and its peers finish and claim in
// turn.
type peerPlace struct {
	name    string
	url     string // PostgreSQL URL, or ""
	inst    *instance
	aim     target   // Taskyard relative to the better configuration of River
	maxRate float64  // operations per second for which the queue is filled
	args    []string // of bench/peers
	peers   []string
	left    int // claimable tasks left in the queue
}

// peerRow is a result of bench/peers.
type peerRow struct {
	Peer, Version, Operation string
	PerSecond, P50, P99      float64
}

// peers compares finish and claim with other job queues. They are in a separate
// module in bench/peers, which documents how they are measured; Go downloads it
// from the module proxy.
func (b *bench) peers(ctx context.Context) error {
	program, err := buildPeers(ctx, b.folder)
	if err != nil {
		return err
	}
	pg, err := testkit.StartDurablePostgres()
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(b.folder)
	if err != nil {
		return err
	}
	places := []*peerPlace{
		{
			name: "SQLite", aim: atLeast(1, 1), maxRate: 15_000,
			args: []string{"-dir", folder}, peers: []string{"river-64", "goqite", "river-2000"},
		},
		{
			name: "PostgreSQL", url: pg.URL, aim: atLeast(0.5, 1), maxRate: 6000,
			args: []string{"-postgres", pg.URL}, peers: []string{"river-64", "river-2000"},
		},
	}
	for _, p := range places {
		if p.inst, err = newInstance(b.bin, filepath.Join(b.folder, "peers-"+strings.ToLower(p.name)), queues[:1]); err != nil {
			return err
		}
		if p.url != "" {
			p.inst.env = []string{"TASKYARD_DATABASE=" + p.url}
		}
	}
	for range b.rounds {
		if err := b.peersRound(ctx, program, places); err != nil {
			return err
		}
	}
	return nil
}

// peersRound runs Taskyard and each peer in turn, so that other programs on the
// machine affect both.
func (b *bench) peersRound(ctx context.Context, program peersProgram, places []*peerPlace) error {
	ours, river := make([]float64, len(places)), make([]float64, len(places))
	for i, p := range places {
		for _, peer := range p.peers {
			rate, err := b.finishAndClaim(ctx, p)
			if err != nil {
				return fmt.Errorf("Taskyard on %s: %w", p.name, err)
			}
			r, err := program.lap(ctx, 2*b.lap, p, peer)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", peer, p.name, err)
			}
			name := r.Peer + " " + r.Version + " on " + r.Operation
			b.sheet.add(name, "/s", none, r.PerSecond)
			b.sheet.add(name+": p50", "ms", none, r.P50)
			b.sheet.add(name+": p99", "ms", none, r.P99)
			b.sheet.add(finishName(p)+": against "+r.Peer+" on "+r.Operation, "", none, rate/r.PerSecond)
			ours[i] += rate / float64(len(p.peers))
			if r.Peer == "River" {
				river[i] = max(river[i], r.PerSecond)
			}
		}
		if err := b.finishOverHTTP(ctx, p); err != nil {
			return fmt.Errorf("Taskyard on %s over HTTP: %w", p.name, err)
		}
	}
	for i, p := range places {
		for j, other := range places {
			goal := p.aim
			if i != j {
				goal = none
			}
			b.sheet.add(finishName(p)+": against River at its best on "+other.name, "", goal, ours[i]/river[j])
		}
	}
	return nil
}

func finishName(p *peerPlace) string { return "finish and claim on " + p.name + ", 64 callers" }

// finishAndClaim measures Taskyard inside this process, like its peers in
// theirs. It returns the operations per second.
func (b *bench) finishAndClaim(ctx context.Context, p *peerPlace) (float64, error) {
	svc, d, err := openService(ctx, p.inst.data, fmt.Sprintf(pullOnly, queues[0]), p.url)
	if err != nil {
		return 0, err
	}
	wanted := int(2 * p.maxRate * b.lap.Seconds())
	err = inChunks(ctx, d, wanted-p.left, func(tx *db.Tx, _ int) error { return insert(tx, queues[0]) })
	p.left = max(p.left, wanted)
	if err == nil && p.url != "" {
		err = onPostgres(ctx, p.url, "VACUUM ANALYZE", "CHECKPOINT")
	}
	var l lap
	if err == nil {
		l, err = drive(64, b.lap, newFinisher(ctx, svc, 64))
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return 0, err
	}
	b.addFinished(p, finishName(p), l)
	return l.rate(), nil
}

func (b *bench) finishOverHTTP(ctx context.Context, p *peerPlace) error {
	if _, err := p.inst.start(ctx); err != nil {
		return err
	}
	token, err := p.inst.token(ctx)
	if err == nil {
		c := newClient(p.inst.addr, token, queues[0], p.inst, 1)
		var l lap
		if l, _, err = c.lap(64, b.lap, c.finish); err == nil {
			b.addFinished(p, "HTTP "+finishName(p), l)
		}
	}
	return errors.Join(err, p.inst.stop())
}

func (b *bench) addFinished(p *peerPlace, name string, l lap) {
	p.left -= l.ops
	b.sheet.add(name, "/s", none, l.rate())
	b.sheet.add(name+": p50", "ms", none, millis(l.percentile(0.5)))
	b.sheet.add(name+": p99", "ms", none, millis(l.percentile(0.99)))
}

// newFinisher returns an operation for drive in which each caller completes its
// task and claims the next. Its first call only claims.
func newFinisher(ctx context.Context, svc *service.Service, callers int) func(int, int64) error {
	agent := queues[0]
	actor := task.Actor{Name: agent, Role: task.RoleAgent}
	claimed := make([]task.ID, callers)
	return func(i int, _ int64) error {
		if claimed[i] == 0 {
			list, err := svc.Signup(ctx, actor, agent, 1)
			if err != nil || len(list) == 0 {
				return errors.Join(err, errEmpty)
			}
			claimed[i] = list[0].ID
			return nil
		}
		done, err := svc.CompleteAndSignup(ctx, actor, agent, claimed[i], "done", 0)
		if err != nil {
			return err
		}
		claimed[i] = 0
		if done.Task == nil {
			return errEmpty
		}
		claimed[i] = done.Task.ID
		return nil
	}
}

// peersProgram is the built bench/peers. It runs in its folder, where Go finds
// its modules.
type peersProgram struct{ bin, dir string }

func buildPeers(ctx context.Context, folder string) (p peersProgram, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "taskyard").Output()
	if err != nil {
		return p, fmt.Errorf("go list: %w", err)
	}
	p.dir = filepath.Join(strings.TrimSpace(string(root)), "bench", "peers")
	if p.bin, err = filepath.Abs(filepath.Join(folder, "peers")); err != nil {
		return p, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", p.bin, ".")
	build.Dir = p.dir
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("go build in %s: %w\n%s", p.dir, err, out)
	}
	return p, nil
}

// lap runs one peer on a place for d.
func (p peersProgram) lap(ctx context.Context, d time.Duration, at *peerPlace, peer string) (r peerRow, err error) {
	jobs := max(5000, int(30_000*d.Seconds()))
	args := append(slices.Clone(at.args), "-only", peer, "-json", "-lap", d.String(), "-jobs", strconv.Itoa(jobs))
	cmd := exec.CommandContext(ctx, p.bin, args...)
	cmd.Dir, cmd.Stderr = p.dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	var rows []peerRow
	if err := json.Unmarshal(out, &rows); err != nil {
		return r, fmt.Errorf("%w: %.300s", err, out)
	}
	if len(rows) != 1 {
		return r, fmt.Errorf("%d rows: %.300s", len(rows), out)
	}
	return rows[0], nil
}
