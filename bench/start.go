package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// idle is how long a server is idle before its memory is measured. It looks every
// 5 s whether it is quiet, and then returns what its start or a burst left.
const idle = 8 * time.Second

// measureEmpty starts the server with an empty folder, and measures the time
// until its first answer, and its memory and disk usage.
func measureEmpty(ctx context.Context, s *sheet, bin, folder string, rounds int) error {
	fi, err := os.Stat(bin)
	if err != nil {
		return err
	}
	s.add("size of the binary", "MB", atMost(60, 35), float64(fi.Size())/1e6)
	for i := range rounds {
		inst, err := newInstance(bin, filepath.Join(folder, "empty-"+number(float64(i))), nil)
		if err != nil {
			return err
		}
		took, err := inst.start(ctx)
		if err != nil {
			return err
		}
		s.add("start to first answer, empty folder", "s", atMost(0.3, 0.1), took.Seconds())
		time.Sleep(idle)
		mib, err := inst.rss()
		if err != nil {
			return errors.Join(err, inst.stop())
		}
		s.add("memory of the idle server", "MiB", atMost(60, 30), mib)
		if err := inst.stop(); err != nil {
			return err
		}
	}
	return nil
}

// measureRestart starts the server on a folder with many tasks and leaves it
// running after the last round.
func measureRestart(ctx context.Context, s *sheet, inst *instance, name string, rounds int) error {
	for i := range rounds {
		took, err := inst.start(ctx)
		if err != nil {
			return err
		}
		s.add("start to first answer, "+name, "s", atMost(2, 0.3), took.Seconds())
		if i == rounds-1 {
			break
		}
		if err := inst.stop(); err != nil {
			return err
		}
	}
	return nil
}
