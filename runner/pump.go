package runner

import (
	"errors"
	"os"
	"time"
)

const (
	chunkSize  = 32 << 10               // bytes read at once
	quietFlush = 200 * time.Millisecond // after which the beginning of a line is passed on
	floodPause = time.Millisecond       // after each chunk of a flood: at most 32 MiB/s
	drainWait  = 500 * time.Millisecond // for output once the tree is dead
	drainBytes = 1 << 20                // at most; no pipe holds more
)

// chunk is a piece of output on its way from a reader to the pump.
type chunk struct {
	from stream
	data []byte // nil: the stream has ended
	ack  chan<- struct{}
}

// pump passes the output of the child to h until both streams have ended, or
// the whole tree has and what the pipes held is read. Readers wait for h: a
// slow handler fills the pipes, which makes the program wait.
func pump(c *child, h handler, clk *clock) {
	chunks := make(chan chunk)
	go read(c.stdout, stdout, c.done, chunks)
	go read(c.stderr, stderr, c.done, chunks)
	go func() {
		<-c.done
		// Something may still hold the pipes open; wake what waits for it.
		_ = c.stdout.SetReadDeadline(time.Now())
		_ = c.stderr.SetReadDeadline(time.Now())
		_ = c.stdin.SetWriteDeadline(time.Now())
	}()
	quiet := [streams]*time.Timer{time.NewTimer(quietFlush), time.NewTimer(quietFlush)}
	for open := int(streams); open > 0; {
		select {
		case k := <-chunks:
			quiet[k.from].Reset(quietFlush)
			if k.data == nil {
				open--
				clk.during(func() bool { h.Closed(k.from); return true })
			} else {
				clk.during(func() bool { return h.Output(k.from, k.data) })
			}
			if h.Flooded() {
				time.Sleep(floodPause)
			}
			k.ack <- struct{}{}
		case <-quiet[stdout].C:
			clk.during(func() bool { h.Quiet(stdout); return false })
		case <-quiet[stderr].C:
			clk.during(func() bool { h.Quiet(stderr); return false })
		}
	}
	<-c.done
}

// read sends what comes from f, one chunk at a time, and nil at the end.
func read(f *os.File, from stream, done <-chan struct{}, chunks chan<- chunk) {
	buf, ack := make([]byte, chunkSize), make(chan struct{})
	drained := 0
	for {
		n, err := f.Read(buf)
		if n > 0 {
			chunks <- chunk{from, buf[:n], ack}
			<-ack
		}
		if drained > 0 {
			drained += n
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && drained == 0 {
			<-done
			drained, err = 1, nil
		}
		if err != nil || drained > drainBytes {
			chunks <- chunk{from, nil, ack}
			<-ack
			return
		}
		if drained > 0 {
			_ = f.SetReadDeadline(time.Now().Add(drainWait))
		}
	}
}
