package supervise

import "taskyard/task"

// Inbox holds messages from people to a working run. Its functions may be
// called from any goroutine.
type Inbox struct {
	Arrived <-chan struct{}          // signaled when a message may be queued
	Queued  func() []task.RunMessage // messages that the agent has not received yet, oldest first
	// Deliver records that the agent receives a message, which is then in the
	// transcript. If it returns false, the message stays queued and must not be
	// given to the agent.
	Deliver func(task.ID) bool
}

// Messages returns the queued messages from people, worded for the agent,
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

// WorkedSeconds returns how long the run has worked, in seconds that count toward its
// limit.
func (r *Run) WorkedSeconds() int { return int(r.clock.worked().Seconds()) }
