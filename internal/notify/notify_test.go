package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

var message = Message{
	Title: "Taskyard: a question from an agent",
	Text:  "#12 Choose: coder asks: north?",
	Link:  "https://tasks.example/tasks/12",
}

// received is a request that a sink received.
type received struct {
	path, body string
	header     http.Header
}

// sink starts a server that always answers with a status and passes on what it
// receives.
func sink(t *testing.T, status int) (address string, got chan received) {
	t.Helper()
	got = make(chan received, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- received{r.URL.Path, string(b), r.Header}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://"), got
}

func open(t *testing.T, address string) *Target {
	t.Helper()
	target, err := Open(address)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func send(t *testing.T, target *Target) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return target.Send(ctx, message)
}

func TestAWebhookGetsTextAndLink(t *testing.T) {
	t.Parallel()
	host, got := sink(t, 200)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	if err := send(t, open(t, "generic://"+host+"/hook/s3cret?disabletls=yes")); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.path != "/hook/s3cret" || r.body != message.Text+"\n"+message.Link {
		t.Errorf("%+v", r)
	}
	t.Run("as JSON too, with the link in its own field", func(t *testing.T) {
		if err := send(t, open(t, "generic+http://"+host+"/hook?template=json")); err != nil {
			t.Fatal(err)
		}
		var b map[string]string
		if err := json.Unmarshal([]byte((<-got).body), &b); err != nil || b["title"] != message.Title ||
			b["link"] != message.Link || !strings.HasPrefix(b["message"], message.Text) {
			t.Errorf("%v, %v", b, err)
		}
	})
}

func TestNtfyGetsTitleAndClick(t *testing.T) {
	t.Parallel()
	host, got := sink(t, 200)
	if err := send(t, open(t, "ntfy://ops:hunter2@"+host+"/alerts?scheme=http")); err != nil {
		t.Fatal(err)
	}
	r := <-got
	user, password, _ := (&http.Request{Header: r.header}).BasicAuth()
	if r.path != "/alerts" || r.header.Get("Title") != message.Title || r.header.Get("Click") != message.Link ||
		!strings.HasPrefix(r.body, message.Text) || user != "ops" || password != "hunter2" {
		t.Errorf("%+v", r)
	}
}

func TestAMailHasTextAndLink(t *testing.T) {
	t.Parallel()
	host, mails := mailSink(t)
	if err := send(t, open(t, "smtp://"+host+
		"/?from=tasks@example.org&to=ops@example.org&starttls=no&encryption=None&auth=None")); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-mails:
		for _, want := range []string{"RCPT TO:<ops@example.org>", "Subject:", message.Text, message.Link} {
			if !strings.Contains(m, want) {
				t.Errorf("%q is not in\n%s", want, m)
			}
		}
	case <-time.After(patience):
		t.Fatal("no mail arrived")
	}
}

func TestErrorsHideTheAddress(t *testing.T) {
	t.Parallel()
	host, _ := sink(t, 500)
	for name, address := range map[string]string{
		"a server that fails":       "generic://" + host + "/hook/s3cret-path?disabletls=yes&token=s3cret-query",
		"a server that fails, ntfy": "ntfy://s3cret-user:s3cret-word@" + host + "/s3cret-topic?scheme=http",
		"no listener":               "generic://127.0.0.1:1/s3cret-path?disabletls=yes",
		"no mail server":            "smtp://s3cret-user:s3cret-word@127.0.0.1:1/?from=a@s3cret-from.example&to=b@example.org&starttls=no",
	} {
		t.Run(name, func(t *testing.T) {
			err := send(t, open(t, address))
			if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "://") {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, address := range map[string]string{
		"no address":                " ",
		"an unknown kind":           "s3cret://host",
		"an invalid address":        "s3cret\x7f://%zz",
		"a kind of the library":     "logger://s3cret",
		"ntfy without a topic":      "ntfy://s3cret-user:s3cret-word@host",
		"a bad token of slack":      "slack://s3cret@s3cret",
		"mail without recipients":   "smtp://s3cret-user:s3cret-word@host/?from=a@b",
		"a bad option of a webhook": "generic://host/s3cret?disabletls=s3cret-maybe",
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if _, err := Open(address); err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("slack accepts the tokens of its webhook", func(t *testing.T) {
		if got := open(t, "slack://hook:T00000000-B00000000-XXXXXXXXXXXXXXXXXXXXXXXX@webhook").Kind(); got != "slack" {
			t.Error(got)
		}
	})
}

func TestTextOfAnAgentIsEscapedForSlack(t *testing.T) {
	t.Parallel()
	hostile := Message{Text: "#12 Choose: coder asks: <!channel> <https://evil.example|Approve> a && b?", Link: message.Link}
	want := "#12 Choose: coder asks: &lt;!channel&gt; &lt;https://evil.example|Approve&gt; a &amp;&amp; b?\n" + message.Link
	if got := open(t, "slack://hook:T00000000-B00000000-XXXXXXXXXXXXXXXXXXXXXXXX@webhook").text(hostile); got != want {
		t.Errorf("Slack got %q", got)
	}
	if got := open(t, "ntfy://example.org/alerts").text(hostile); got != hostile.Text+"\n"+hostile.Link {
		t.Errorf("ntfy got %q", got)
	}
}

func TestASlowServiceGetsNoSecondMessage(t *testing.T) {
	t.Parallel()
	held, release := make(chan bool, 2), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { held <- true; <-release }))
	t.Cleanup(srv.Close)
	target := open(t, "generic+"+srv.URL)
	ctx, cancel := context.WithCancelCause(t.Context())
	errs := make(chan error, 1)
	go func() { errs <- target.Send(ctx, message) }()
	<-held
	cancel(errors.New("too long"))
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
	if err := send(t, target); err == nil || !strings.Contains(err.Error(), "still under way") {
		t.Errorf("a second message while one hangs: got %v", err)
	}
	close(release)
	target.busy <- struct{}{} // release it
}

// A webhook that never answers must not block all later messages.
func TestWebhooksHaveATimeout(t *testing.T) {
	t.Parallel()
	open(t, "generic+http://127.0.0.1:1/")
	if http.DefaultClient.Timeout != maxSend {
		t.Errorf("got a webhook timeout of %v, want %v", http.DefaultClient.Timeout, maxSend)
	}
}
