package supervise

import "taskyard/task"

// Inbox holds what people say to a run while it works. Its functions may be
// called from any goroutine.
type Inbox struct {
	Said   <-chan struct{}          // signaled when a message may wait
	Queued func() []task.RunMessage // those that the agent did not get yet, oldest first
	// Deliver notes that the agent gets a message, which is then in the
	// transcript. False: it stays queued and must not be given to the agent.
	Deliver func(task.ID) bool
}

// Messages takes what people said to the run, in the words for the agent,
// oldest first. They count as delivered.
func (r *Run) Messages() (texts []string) {
	in := r.Spec.Inbox
	if in == nil {
		return nil
	}
	for _, m := range in.Queued() {
		if in.Deliver(m.ID) {
			texts = append(texts, m.Prompt())
		}
	}
	return texts
}

// Ran returns how long the run worked, in seconds that count for its limit.
func (r *Run) Ran() int { return int(r.clock.ran().Seconds()) }
