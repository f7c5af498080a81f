package supervise

import (
	"errors"
	"os"
	"time"
)

const (
	chunkSize  = 32 << 10               // bytes per read
	quietFlush = 200 * time.Millisecond // delay after which the beginning of a line is passed on
	floodPause = time.Millisecond       // after each chunk of a flood: at most 32 MiB/s
	drainWait  = 500 * time.Millisecond // for remaining output after the tree has ended
	drainBytes = 1 << 20                // at most; no pipe holds more
)

// chunk is a piece of output between a reader and the pump.
type chunk struct {
	from Stream
	data []byte // nil: the stream has ended
	ack  chan<- struct{}
}

// pumpOutput passes the output of the child to r until both streams have ended, or
// the whole tree has ended and the pipes are empty. Streams wait for r: if r is
// slow, the pipes fill up and the program blocks.
func pumpOutput(c *child, r Reader, run *Run) {
	chunks := make(chan chunk)
	go read(c.stdout, Stdout, c.done, chunks)
	go read(c.stderr, Stderr, c.done, chunks)
	go func() {
		<-c.done
		// Something may still hold the pipes open; wake the readers.
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
				run.clock.during(func() bool { r.Closed(k.from); return true })
			} else {
				run.clock.during(func() bool { return r.Output(k.from, k.data) })
			}
			if run.isFlooded() {
				time.Sleep(floodPause)
			}
			k.ack <- struct{}{}
		case <-quiet[Stdout].C:
			run.clock.during(func() bool { r.Quiet(Stdout); return false })
		case <-quiet[Stderr].C:
			run.clock.during(func() bool { r.Quiet(Stderr); return false })
		}
	}
	<-c.done
}

// read sends the data of f in chunks, and nil at the end.
func read(f *os.File, from Stream, done <-chan struct{}, chunks chan<- chunk) {
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
