package supervise

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// The variables that mark every process of a run, for KillOrphan.
const (
	envRunID      = "TASKYARD_RUN_ID"
	envInstanceID = "TASKYARD_YARD_ID"
)

var instanceID atomic.Value

// SetInstance sets the ID of this instance, so that two servers on one machine
// do not kill each other's processes. Call it once, before the first Run or
// KillOrphan, with a value that is stored in the data folder. Without it,
// processes cannot be found by their environment after a crash.
func SetInstance(id string) { instanceID.Store(id) }

func currentInstance() string {
	id, _ := instanceID.Load().(string)
	return id
}

// Environment returns the environment of the program: from the server, only
// PATH and the variables that the plan lists. Taskyard's variables cannot be
// overridden; HOME and TMPDIR only by the configuration.
func Environment(spec Spec, configured map[string]string) []string {
	vars := map[string]string{
		"PATH":   os.Getenv("PATH"),
		"LANG":   "C.UTF-8",
		"TERM":   "dumb",
		"HOME":   filepath.Join(spec.Dir, "home"),
		"TMPDIR": filepath.Join(spec.Dir, "tmp"),
	}
	for _, name := range spec.Plan.Env {
		if value, ok := os.LookupEnv(name); ok && name != "HOME" && name != "TMPDIR" {
			vars[name] = value
		}
	}
	maps.Copy(vars, configured)
	for name := range vars {
		if name == "" || strings.Contains(name, "=") || strings.HasPrefix(name, "TASKYARD_") {
			delete(vars, name)
		}
	}
	vars["TASKYARD_URL"] = spec.URL
	vars["TASKYARD_TOKEN"] = spec.Token
	vars["TASKYARD_TASK_ID"] = spec.TaskID.String()
	vars["TASKYARD_AGENT"] = spec.Plan.Agent
	vars["TASKYARD_MODEL"] = spec.Plan.Model
	vars[envRunID] = spec.RunID.String()
	vars[envInstanceID] = currentInstance()
	list := make([]string, 0, len(vars))
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}
