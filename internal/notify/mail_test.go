package notify

import (
	"bufio"
	"net"
	"strings"
	"testing"
)

// mailSink is a local mail server that accepts every mail and passes on what the
// client sent.
func mailSink(t *testing.T) (host string, mails chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mails = make(chan string, 10)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mails <- takeMail(c)
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-ended })
	return ln.Addr().String(), mails
}

// takeMail speaks the server side of SMTP until the client quits.
func takeMail(c net.Conn) string {
	defer c.Close()
	var all strings.Builder
	say := func(line string) { _, _ = c.Write([]byte(line + "\r\n")) }
	say("220 sink")
	data := false
	for in := bufio.NewScanner(c); in.Scan(); {
		line := in.Text()
		all.WriteString(line + "\n")
		switch {
		case data && line == ".":
			data = false
			say("250 taken")
		case data:
		case line == "DATA":
			data = true
			say("354 send the message")
		case line == "QUIT":
			say("221 bye")
			return all.String()
		default:
			say("250 sink")
		}
	}
	return all.String()
}
