package db

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALongCopyReportsItsProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		written := int64(0)
		end := logCopyProgress(slog.New(slog.NewTextHandler(&log, nil)), 2e9, func() int64 { written += 500e6; return written })
		time.Sleep(35 * time.Second) // of the bubble's time
		end()
		time.Sleep(time.Minute)
		for _, want := range []string{"megabytes=500 of=2000", "megabytes=1000 of=2000", "megabytes=1500 of=2000"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not contain %q:\n%s", want, log.String())
			}
		}
		if n := strings.Count(log.String(), "still copying"); n != 3 {
			t.Errorf("got %d lines in 35 s, want 3:\n%s", n, log.String())
		}
	})
}
