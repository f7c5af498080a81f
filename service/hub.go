package service

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"taskyard/task"
)

// broadcast wakes all listeners.
type broadcast struct {
	mu sync.Mutex
	c  chan struct{} // nil: nobody listens
}

// listen returns a channel that the next signal closes.
func (b *broadcast) listen() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *broadcast) signal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// Hub notifies subscribers which topics changed. Topics are names such as
// task:42, run:7, queue:coder, todo:coder, queues, tasks, runs, approvals,
// agents, scheduler, inbox, instance, settings, views, events. Nothing is polled: one broadcast
// follows each commit.
type Hub struct {
	mu    sync.Mutex
	subs  map[*Subscription]struct{} // nil once it has ended
	ended chan struct{}
	gen   uint64
}

// Subscription tells one subscriber what changed. C is signaled when Drain has topics to return.
type Subscription struct {
	C     chan struct{}
	hub   *Hub
	want  map[string]bool // nil: every topic
	mu    sync.Mutex
	dirty map[string]bool
}

// newHub counts from anywhere: a page that was drawn before a restart must not
// find the number that it knows.
func newHub() *Hub {
	return &Hub{subs: map[*Subscription]struct{}{}, ended: make(chan struct{}), gen: rand.Uint64N(1 << 62)}
}

// Subscribe subscribes to topics, or to all of them if none are named. Close the subscription after use.
func (h *Hub) Subscribe(topics ...string) *Subscription {
	s := &Subscription{C: make(chan struct{}, 1), hub: h, dirty: map[string]bool{}}
	if len(topics) > 0 {
		s.want = make(map[string]bool, len(topics))
		for _, t := range topics {
			s.want[t] = true
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs != nil {
		h.subs[s] = struct{}{}
	}
	return s
}

// Publish marks topics as changed. It never blocks: a slow subscriber finds
// each topic once.
func (h *Hub) Publish(topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gen++
	for s := range h.subs {
		s.mark(topics)
	}
}

// PublishAll marks whatever a subscriber wants as changed.
func (h *Hub) PublishAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gen++
	for s := range h.subs {
		if s.want == nil {
			s.mark(allTopics)
			continue
		}
		s.mark(slices.Collect(maps.Keys(s.want)))
	}
}

// allTopics are those that name no object.
var allTopics = []string{
	"events", "queues", "tasks", "runs", "approvals", "agents", "scheduler", "inbox", "instance", "settings", "views",
	TopicMerges, TopicOutbox,
}

// Generation grows with every Publish.
func (h *Hub) Generation() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gen
}

// Subscribers returns how many subscriptions are open.
func (h *Hub) Subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// Close ends every subscription, so that open streams do not hold a stop.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs != nil {
		close(h.ended)
	}
	h.subs = nil
}

// Done is closed when the hub ends.
func (h *Hub) Done() <-chan struct{} { return h.ended }

func (s *Subscription) mark(topics []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hit := false
	for _, t := range topics {
		if s.want == nil || s.want[t] {
			s.dirty[t] = true
			hit = true
		}
	}
	if !hit {
		return
	}
	select {
	case s.C <- struct{}{}:
	default:
	}
}

// Drain returns the topics that have changed since the last call, and forgets
// them. A subscriber that does not ask which topics changed only receives from C.
func (s *Subscription) Drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Collect(maps.Keys(s.dirty))
	clear(s.dirty)
	return list
}

// Done is closed when the hub ends.
func (s *Subscription) Done() <-chan struct{} { return s.hub.ended }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subs, s)
}

func eventTopics(e task.Event) []string {
	list := []string{"events"}
	if strings.HasPrefix(e.Kind, "todo.") {
		return append(list, "todo:"+e.Agent)
	}
	if e.TaskID != 0 {
		list = append(list, "task:"+e.TaskID.String(), "queues")
	}
	if e.RunID != 0 {
		list = append(list, "run:"+e.RunID.String(), "runs", "scheduler")
		if strings.HasPrefix(e.Kind, "run.") {
			list = append(list, "approvals")
		}
	}
	if e.Agent != "" {
		list = append(list, "queue:"+e.Agent)
	}
	if inboxKinds[e.Kind] {
		list = append(list, "inbox")
	}
	noun, _, _ := strings.Cut(e.Kind, ".")
	return append(list, nounTopics[noun]...)
}

// nounTopics are the topics of the events of a noun.
var nounTopics = map[string][]string{
	task.InstanceNoun: {"instance", "agents", "queues", "scheduler"},
	"agent":           {"agents", "queues", "scheduler"},
	"scheduler":       {"scheduler"},
	"settings":        {"settings"},
	"view":            {"views"},
}
