// Package notify notifies external services: webhooks, ntfy, Slack and email.
// It connects only to configured addresses, and none of its errors contains an
// address or a secret part of one.
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

// Schemes are the supported URL schemes.
var Schemes = []string{"generic", "generic+http", "generic+https", "ntfy", "slack", "smtp"}

// Message is a notification.
type Message struct {
	Title string // one line
	Text  string // the lines, without the link
	Link  string // URL where the decision is made
}

// Target is one external service. It is safe for concurrent use.
type Target struct {
	url     *url.URL
	service types.Service // shared by all messages, because each instance has its own connections
	hide    hider
	busy    chan struct{} // contains one token while a message is being sent
}

// maxSend bounds the time for one message. The library's other services have
// shorter timeouts.
const maxSend = 30 * time.Second

// boundGeneric adds the missing timeout to the client of the library's webhook
// service, which is the default client of the process and not used elsewhere: a
// request without an answer would block all later messages.
var boundGeneric = sync.OnceFunc(func() { http.DefaultClient.Timeout = maxSend })

// Open parses the URL of a service. Errors: no URL, an unknown scheme, a
// missing part; none of them contains the URL.
func Open(address string) (*Target, error) {
	if strings.TrimSpace(address) == "" {
		return nil, errors.New("it is empty: set it in the environment of the server to an address that begins with one of " + kinds())
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

// Kind returns the kind of the service, such as ntfy.
func (t *Target) Kind() string {
	kind, _, _ := strings.Cut(t.url.Scheme, "+")
	return kind
}

// client creates the library's service for the URL.
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
	return s, s.Initialize(&u, log.New(io.Discard, "", 0)) // the library may log the URL
}

// Send sends a message. The library does not support contexts: when ctx ends,
// Send returns, but until the pending message has ended, the next one is
// rejected.
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

// slackEscapes are the escapes that Slack requires. Otherwise, an agent's text
// could mention everyone in a channel, or hide a URL behind other text.
var slackEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// text returns the text and the link in the form that the service expects.
func (t *Target) text(m Message) string {
	text := m.Text
	if t.Kind() == slack.Scheme {
		text = slackEscapes.Replace(text)
	}
	return text + "\n" + m.Link
}

// params returns the parameters of a message. Services keep those of the last
// message, so every message must set all of them.
func (t *Target) params(m Message) *types.Params {
	p := types.Params{types.TitleKey: m.Title}
	switch t.Kind() {
	case ntfy.Scheme:
		p["click"] = m.Link
	case generic.Scheme:
		p["link"] = m.Link // included in the JSON, with ?template=json
	}
	return &p
}
