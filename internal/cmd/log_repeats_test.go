package cmd

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestARepeatedErrorIsLoggedOncePerMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(newRepeatsHandler(slog.NewTextHandler(&out, nil)))
		gone, full := errors.New("the database was deleted"), errors.New("the disk is full")
		for i := range 150 {
			log.Error("job failed", "job", "claims", "error", gone)
			log.With("job", "approvals").Error("job failed", "error", gone)
			if i == 30 {
				log.Error("job failed", "job", "claims", "error", full)
			}
			log.Info("still here")
			time.Sleep(time.Second) // in the synctest bubble
		}
		for line, want := range map[string]int{
			"job=claims error=\"the database": 3, "job=approvals error=\"the database": 3, "the disk is full": 1,
			"repeated=59": 4, "still here": 150,
		} {
			if n := strings.Count(out.String(), line); n != want {
				t.Errorf("%q was logged %d times in 150 s, want %d", line, n, want)
			}
		}
	})
}
