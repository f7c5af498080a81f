package dbfill

import (
	"strings"
	"sync/atomic"
)

// mix returns a pseudorandom number from 0 to 2^31-1.
func mix(n int64) int64 {
	x := uint64(n) * 0x9e3779b97f4a7c15
	return int64(x>>17) & 0x7fffffff
}

// agentWords are the owners of the instance that is being filled.
var agentWords atomic.Pointer[[]string]

func setAgents(list []string) { agentWords.Store(&list) }

// word returns the nth word of a kind, starting over after the last. Unknown kinds
// have no words.
func word(kind string, n int64) string {
	if n < 0 {
		n = -n
	}
	if kind == "sentence" {
		return sentence(n)
	}
	list := words[kind]
	if kind == "agent" {
		list = *agentWords.Load()
	}
	if len(list) == 0 {
		return ""
	}
	return list[n%int64(len(list))]
}

// sentence returns the nth of about 400,000 sentences.
func sentence(n int64) string {
	x := mix(n)
	part := func(list []string) string {
		w := list[x%int64(len(list))]
		x /= int64(len(list))
		return w
	}
	return "The " + part(things) + " " + part(does) + " the " + part(things) + " " + part(whens) + "."
}

var words = map[string][]string{
	"person": people, "verb": strings.Fields("Add Fix Review Plan Write Test Remove Split Document " +
		"Measure Rename Move Check Ship Draft Port Speed Guard Trace Sort"),
	"thing": things, "who": {
		"the integrators", "v0.4", "the nightly build", "support",
		"the audit", "new people", "the staging server", "mobile",
	},
	"label": strings.Fields("api docs release security ui build infra billing search onboarding"),
	"model": {"sonnet", "opus", "gpt-5", "haiku"},
}

var people = strings.Fields("maya jonas vera li omar ines tom ruth aiko pavel nora sam eva ben " +
	"zoe carl ida max uma kai lea finn ada leo mia noa rosa hugo elin arne")

var things = []string{
	"rate limiter", "token bucket", "retry policy", "release notes", "onboarding guide",
	"flaky test of the queue", "search index", "cursor of the history", "invoice timeout",
	"backup drill", "webhook signature", "dark theme", "settings page", "list of open questions",
	"migration of the schema", "metrics endpoint", "error budget", "build cache",
	"login form", "session store", "upload of files", "audit log", "keyboard table", "price list",
	"export of tasks", "staging server", "load balancer", "health check", "mail template",
	"glossary", "style guide", "dependency report", "license page", "crash report", "memory profile",
	"worker pool", "idempotency key", "permission matrix", "deploy script", "status page",
}

var does = []string{
	"breaks", "needs", "replaces", "waits for", "is slower than", "depends on", "hides", "repeats", "belongs to",
	"comes before", "reads", "outlives", "does not know", "must follow", "blocks", "explains",
}

var whens = []string{
	"under load", "since the last release", "on small screens", "when the disk is full", "after a restart",
	"in every browser but one", "for callers without a token", "at midnight", "twice a day",
	"as people expect", "and nobody noticed", "until the cache is cold", "with more than 1,000 rows",
	"in the tests alone", "because of the clock", "as the design says",
}
