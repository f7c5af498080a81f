package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

const (
	sleepers = 1000            // waiting signups
	atRest   = 5 * time.Second // how long they are measured
)

// waiting measures many waiting signups on a separate server: their cost while
// there are no tasks, and how soon each gets a task.
func (b *bench) waiting(ctx context.Context) error {
	inst, err := newInstance(b.bin, filepath.Join(b.folder, "waiting"), queues[:1])
	if err != nil {
		return err
	}
	if _, err := inst.start(ctx); err != nil {
		return err
	}
	return errors.Join(b.measureWaiting(ctx, inst), inst.stop())
}

func (b *bench) measureWaiting(ctx context.Context, inst *instance) error {
	token, err := inst.token(ctx)
	if err != nil {
		return err
	}
	auth := []string{"Authorization: Bearer " + token, "Content-Type: application/json"}
	create := request("POST", "/api/tasks", inst.addr, fmt.Sprintf(createBody, "x", queues[0]), auth...)
	own, err := dial(inst.addr)
	if err != nil {
		return err
	}
	defer own.close()
	if err := inst.settle(); err != nil {
		return err
	}
	before, err := inst.rss()
	if err != nil {
		return err
	}
	wires := make([]*wire, sleepers)
	for i := range wires {
		if wires[i], err = dial(inst.addr); err != nil {
			return err
		}
		defer wires[i].close()
		if _, err := wires[i].conn.Write(request("POST", "/api/agents/"+queues[0]+"/signup",
			inst.addr, "{\"waitSeconds\":50}", auth...)); err != nil {
			return err
		}
	}
	if err := asleep(own, inst.addr, sleepers); err != nil {
		return err
	}
	if err := b.recordIdle(inst, before); err != nil {
		return err
	}
	begin := time.Now()
	for range sleepers {
		if _, err := own.call(create); err != nil {
			return err
		}
	}
	created := time.Since(begin)
	for _, w := range wires {
		a, err := w.receive()
		if err == nil && (a.status != 200 || !bytes.Contains(a.body, []byte(`"holder"`))) {
			err = fmt.Errorf("a signup that waited got %d: %.300s", a.status, a.body)
		}
		if err != nil {
			return err
		}
	}
	b.sheet.add(fmt.Sprintf("%d tasks created one by one for them", sleepers), "ms", none, millis(created))
	b.sheet.add("the last of them claimed after that", "ms", none, millis(time.Since(begin)-created))
	return nil
}

// asleep waits until n signups are waiting.
func asleep(w *wire, addr string, n int) error {
	line := fmt.Appendf(nil, "taskyard_signups_waiting %d\n", n)
	req := request("GET", "/metrics", addr, "")
	for range 300 {
		body, err := w.call(req)
		if err != nil || bytes.Contains(body, line) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the signups do not come to wait")
}

// recordIdle records the resource usage of an idle server.
func (b *bench) recordIdle(inst *instance, before float64) error {
	if err := inst.settle(); err != nil {
		return err
	}
	start, err := inst.cpu()
	if err != nil {
		return err
	}
	time.Sleep(atRest)
	end, err := inst.cpu()
	if err != nil {
		return err
	}
	mib, err := inst.rss()
	name := fmt.Sprintf("%d waiting signups", sleepers)
	b.sheet.add(name+": memory", "MiB", atMost(64, 16), mib-before)
	b.sheet.add(name+": CPU at rest", "% of a core", atMost(1, 0.2), 100*(end-start).Seconds()/atRest.Seconds())
	return err
}
