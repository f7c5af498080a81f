// Package notify tells external services what waits: webhooks, ntfy, Slack and
// mail. Only addresses that were configured are reached, and no error of it
// holds an address or a part of one that is secret.
package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/email/smtp"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/specialized/generic"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// Schemes are the kinds of services, as their addresses begin.
var Schemes = []string{"generic", "generic+http", "generic+https", "ntfy", "slack", "smtp"}

// Message is what is told.
type Message struct {
	Title string // one line
	Text  string // the lines, without the link
	Link  string // where the decision is made
}

// Target is one service outside. It is safe for concurrent use.
type Target struct {
	url     *url.URL
	service types.Service // one for all messages: each keeps connections of its own
	hide    hider
	busy    chan struct{} // holds one token while a message is under way
}

// maxSend is how long one message may take. The other services of the library have
// shorter limits of their own.
const maxSend = 30 * time.Second

// boundGeneric gives the client of the library's service for webhooks, which is
// that of the whole process and used by nothing else here, the limit that it lacks:
// a request without an answer would keep all later messages from being sent.
var boundGeneric = sync.OnceFunc(func() { http.DefaultClient.Timeout = maxSend })

// Open reads the address of a service. Errors: no address, an unknown kind,
// something that the kind needs is missing; none of them shows the address.
func Open(address string) (*Target, error) {
	if strings.TrimSpace(address) == "" {
		return nil, errors.New("there is no address: it begins with one of " + kinds())
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, errors.New("the address cannot be read: it begins with one of " + kinds())
	}
	if !slices.Contains(Schemes, u.Scheme) {
		return nil, errors.New("the address is of an unknown kind: it begins with one of " + kinds())
	}
	boundGeneric()
	t := &Target{url: u, hide: newHider(address, u), busy: make(chan struct{}, 1)}
	if t.service, err = t.client(); err != nil {
		return nil, errors.New(t.hide.text(err.Error()))
	}
	return t, nil
}

func kinds() string { return strings.Join(Schemes, "://, ") + "://" }

// Kind is the kind of the service, such as ntfy.
func (t *Target) Kind() string {
	kind, _, _ := strings.Cut(t.url.Scheme, "+")
	return kind
}

// client makes the library's service of the address.
func (t *Target) client() (types.Service, error) {
	u := *t.url
	var s types.Service
	switch t.Kind() {
	case ntfy.Scheme:
		s = &ntfy.Service{}
	case slack.Scheme:
		s = &slack.Service{}
	case smtp.Scheme:
		s = &smtp.Service{}
	default:
		g := &generic.Service{}
		if u.Scheme != generic.Scheme {
			custom, err := g.GetConfigURLFromCustom(&u)
			if err != nil {
				return nil, err
			}
			u = *custom
		}
		s = g
	}
	return s, s.Initialize(&u, log.New(io.Discard, "", 0)) // what the library logs may hold the address
}

// Send sends a message. The library knows no context: when ctx ends, Send
// returns, and until the message under way has ended, too, the next is
// refused.
func (t *Target) Send(ctx context.Context, m Message) error {
	select {
	case t.busy <- struct{}{}:
	default:
		return errors.New("the message before is still under way")
	}
	done := make(chan error, 1)
	go func() {
		err := t.send(m)
		<-t.busy
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
}

func (t *Target) send(m Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the service's client broke: " + t.hide.text(fmt.Sprint(p)))
		}
	}()
	if err := t.service.Send(t.text(m), t.params(m)); err != nil {
		return errors.New(t.hide.text(err.Error()))
	}
	return nil
}

// slackEscapes are what Slack asks for. Otherwise the text of an agent could call
// everybody of a channel, or hide an address behind other words.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// text is the text and the link as the service expects them.
func (t *Target) text(m Message) string {
	text := m.Text
	if t.Kind() == slack.Scheme {
		text = slackEscapes.Replace(text)
	}
	return text + "\n" + m.Link
}

// params are what is sent with the text. Services keep those of the last
// message, so that each message must bring the same ones.
func (t *Target) params(m Message) *types.Params {
	p := types.Params{types.TitleKey: m.Title}
	switch t.Kind() {
	case ntfy.Scheme:
		p["click"] = m.Link
	case generic.Scheme:
		p["link"] = m.Link // is in the JSON, with ?template=json
	}
	return &p
}
