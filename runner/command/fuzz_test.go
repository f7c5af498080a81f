//go:build linux

package command

import (
	"strings"
	"testing"
	"unicode/utf8"

	"taskyard/runner/runnertest"
	"taskyard/runner/supervise"
	"taskyard/task"
)

// FuzzProtocol passes any bytes, split anywhere, to the parser of a command's output.
func FuzzProtocol(f *testing.F) {
	f.Add([]byte("hello\n{\"summary\":\"ty_secret\"}\n"), 3)
	f.Add([]byte("{\"type\":\"usage\",\"data\":{\"tokensIn\":1e300}}\n\xff\x00"), 1)
	f.Add([]byte("{\"type\":\"log\",\"text\":\"\\u0000\\u0074y_secret\",\"data\":[\"\\ud800\"]}"), 7)
	f.Add([]byte(strings.Repeat("x", 40000)+"ty_sec"), 1000)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		r, spec := &runnertest.Recorder{}, supervise.Spec{Token: "ty_secret", Dir: t.TempDir()}
		p := newProtocol(supervise.NewRun(spec, r))
		size = max(1, size%4096)
		for i := 0; i < len(b); i += size {
			p.Output(supervise.Stream(i/size%3/2), b[i:min(i+size, len(b))])
			p.Quiet(supervise.Stdout)
		}
		p.Closed(supervise.Stdout)
		p.Closed(supervise.Stderr)
		out := p.Verdict(supervise.Exit{})
		p.release()
		runnertest.CheckEvents(t, r)
		for _, e := range append(r.Events, supervise.Event{Text: out.Summary + out.Reason}) {
			if strings.Contains(e.Text+string(e.Data), spec.Token) {
				t.Errorf("the secret is in %q %s", e.Text, e.Data)
			}
		}
		if !utf8.ValidString(out.Summary) || len([]rune(out.Summary)) > task.MaxSummaryRun || p.Usage.TokensIn < 0 {
			t.Errorf("got outcome %+v, usage %+v", out, p.Usage)
		}
	})
}
