package testkit

import (
	"os"
	"sync"

	"taskyard/internal/config"
	"taskyard/task"
)

var configured = sync.OnceValue(func() task.Rules {
	c, _, err := config.Load(config.LoadOptions{File: os.DevNull})
	if err != nil {
		panic(err)
	}
	return c.Rules()
})

// Rules returns the rules of an instance without configuration, except that it
// has no ticks and no wakes: nothing happens by itself.
func Rules() task.Rules {
	rules := configured()
	rules.Wakes = false
	return rules
}
