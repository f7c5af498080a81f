package service

import (
	"fmt"
	"strings"

	"taskyard/task"
)

// failedChecks are the required ones that did not pass.
func failedChecks(list []task.CheckRun) []task.CheckRun {
	var failed []task.CheckRun
	for _, c := range list {
		if c.Required && c.Verdict != task.CheckPassed {
			failed = append(failed, c)
		}
	}
	return failed
}

// shownLog is how much of the log of a failed check its error repeats, in bytes.
const shownLog = 4000

// checksText names the checks that did not pass, with the end of the first log:
// checks that execute nothing have none.
func checksText(failed []task.CheckRun) string {
	var b strings.Builder
	for i, c := range failed {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "the required check %s %s", c.Name, verdictText(c))
	}
	b.WriteString(".")
	for _, c := range failed {
		if log := strings.TrimRight(c.Log, "\n"); log != "" {
			of := "its log"
			if len(failed) > 1 {
				of = "the log of " + c.Name
			}
			b.WriteString("\nThe end of " + of + ":\n" + task.Tail(log, shownLog))
			break
		}
	}
	return b.String()
}

func verdictText(c task.CheckRun) string {
	text := map[task.Verdict]string{
		task.CheckPassed: "passed", task.CheckFailed: "failed", task.CheckTimedOut: "timed out", task.CheckNotRun: "was not run",
	}[c.Verdict]
	switch {
	case c.Reason != "":
		return text + " (" + c.Reason + ")"
	case c.Verdict == task.CheckFailed:
		return fmt.Sprintf("%s with exit code %d", text, c.ExitCode)
	}
	return text
}
