package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// severalServers measures two more servers in addition to that of a client:
// claims on all of them compared with those on one, and how soon a page of the
// first shows a change on another.
func (b *bench) severalServers(ctx context.Context, url string, first *client, token string, alone float64) (err error) {
	hosts := []string{first.host}
	for i := 2; i <= 3; i++ {
		inst, err := newInstance(b.bin, filepath.Join(b.folder, fmt.Sprintf("postgres-%d", i)), queues)
		if err != nil {
			return err
		}
		inst.env = first.server.env
		if _, err := inst.start(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, inst.stop()) }()
		hosts = append(hosts, inst.addr)
	}
	if err := pgRest(ctx, url); err != nil {
		return err
	}
	if err := first.server.settle(); err != nil {
		return err
	}
	wires := make([]*wire, 64)
	for i := range wires {
		if wires[i], err = dial(hosts[i%len(hosts)]); err != nil {
			return err
		}
		defer wires[i].close()
	}
	l, err := drive(len(wires), b.lap, func(i int, n int64) error { return first.claim(wires[i], n) })
	if err != nil {
		return err
	}
	const name = "HTTP claim on PostgreSQL, three servers, 64 callers"
	b.sheet.add(name, "/s", none, l.rate())
	b.sheet.add(name+": of one server", "%", atLeast(100, 150), 100*l.rate()/alone)
	cookie, err := first.server.session(ctx, "operator")
	if err != nil {
		return err
	}
	first.other = hosts[1]
	return first.measureLive(b.sheet, token, cookie, 10)
}
