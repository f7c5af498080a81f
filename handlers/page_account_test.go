package handlers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"taskyard/task"
)

func TestSignInByPassword(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	b.get("/queues").is(200).shows("maya")

	t.Run("a failed sign-in does not say which part was wrong", func(t *testing.T) {
		n := inst.browser()
		n.post("/login", "name", "maya", "password", "wrong").is(401).shows("Wrong name or password", `value="maya"`)
		n.post("/login", "name", "nobody", "password", "wrong").is(401).shows("Wrong name or password")
	})
	t.Run("a person who is not signed in is redirected to sign in and back", func(t *testing.T) {
		n := inst.browser()
		n.get("/tasks?q=x").redirectsTo("/login?next=%2Ftasks%3Fq%3Dx").is(200).shows(`value="/tasks?q=x"`)
		n.post("/login", "name", "maya", "password", pagePassword, "next", "/tasks?q=x").redirectsTo("/tasks?q=x").is(200)
	})
	t.Run("sign-in never redirects to another site", func(t *testing.T) {
		n := inst.browser()
		for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example`} {
			n.post("/login", "name", "maya", "password", pagePassword, "next", next).redirectsTo("/")
		}
	})
	t.Run("signing out ends the session", func(t *testing.T) {
		n := inst.signIn("maya")
		n.post("/logout").redirectsTo("/login")
		n.get("/queues").redirectsTo("/login?next=%2Fqueues")
	})
	t.Run("too many failures are slowed down", func(t *testing.T) {
		n := inst.browser()
		for range 4 {
			n.post("/login", "name", "oleg", "password", "wrong")
		}
		a := n.post("/login", "name", "oleg", "password", "wrong").is(429).shows("Too many failed attempts")
		if a.header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
		inst.Forward(time.Hour)
		n.post("/login", "name", "oleg", "password", "wrong").is(401)
	})
}

func TestSignInLinksWorkOnce(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	link, err := inst.svc.SetupLink(context.Background())
	inst.ok(err)

	t.Run("the setup page keeps the name if the passwords differ", func(t *testing.T) {
		b := inst.browser()
		b.get("/setup?token=" + link).is(200).shows(`value="` + link + `"`)
		b.post("/setup", "token", link, "name", "maya", "password", pagePassword, "password2",
			"other").is(422).shows("Is not the same as the first", `value="maya"`)
		b.post("/setup", "token", link, "name", "maya", "password", "short", "password2", "short").is(422).shows("Must be at least 12 characters")
	})
	t.Run("the setup link creates the first admin and works once", func(t *testing.T) {
		b := inst.browser()
		b.post("/setup", "token", link, "name", "maya", "password", pagePassword, "password2", pagePassword).redirectsTo("/")
		b.get("/settings/people").is(200)
		inst.browser().get("/setup?token=" + link).is(404)
		inst.browser().post("/setup", "token", link, "name", "mallory", "password", pagePassword, "password2", pagePassword).is(404)
	})
	t.Run("a sign-in link shows a button, and signs in once", func(t *testing.T) {
		secret, err := inst.svc.SignInLink(context.Background(), 1)
		inst.ok(err)
		b := inst.browser()
		b.get("/login/link?token=" + secret).is(200)
		b.get("/login/link?token=" + secret).is(200)
		b.post("/login/link", "token", secret).redirectsTo("/")
		b.get("/queues").is(200)
		inst.browser().post("/login/link", "token", secret).is(403)
	})
}

func TestCrossSiteFormsAreRefused(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	post := func(b *browser, pairs ...string) *webPage {
		return b.post("/tasks", append([]string{"title", "Forged", "owner", "coder"}, pairs...)...)
	}
	t.Run("by their origin", func(t *testing.T) {
		b.origin = "https://evil.example"
		post(b).is(403).shows("came from another site")
	})
	t.Run("by Sec-Fetch-Site", func(t *testing.T) {
		b.origin, b.header = "", http.Header{"Sec-Fetch-Site": {"cross-site"}}
		post(b).is(403)
		b.header = http.Header{"Sec-Fetch-Site": {"same-site"}}
		post(b).is(403)
	})
	t.Run("without these headers the form token is required", func(t *testing.T) {
		b.header = http.Header{}
		post(b).is(403)
		post(b, "_token", "wrong").is(403)
		token := b.get("/tasks/new").field("/tasks", "_token")
		post(inst.signIn("maya"), "_token", token).is(303) // the origin is enough
		other := inst.signIn("maya")
		other.origin = ""
		post(other, "_token", token).is(403) // another browser's token
		post(b, "_token", token).is(303)
	})
	p, err := inst.svc.OpenTasks(context.Background(), mayaActor, task.TaskFilter{Limit: 10})
	inst.ok(err)
	if len(p.Tasks) != 2 {
		t.Fatalf("got %d tasks, want 2", len(p.Tasks))
	}
}

func TestPersonalSettings(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b, other := inst.maya(), inst.signIn("maya")
	const fresh = "a much better sentence"

	t.Run("a wrong current password is reported at its field", func(t *testing.T) {
		b.post("/settings/password", "current", "wrong", "password", fresh).is(422).shows("Is not your current password", `id="current-err"`)
		b.post("/settings/password", "current", pagePassword, "password",
			"short").is(422).shows("Must be at least 12 characters", `id="password-err"`)
	})
	t.Run("a new password ends the other sessions and keeps this one", func(t *testing.T) {
		b.post("/settings/password", "current", pagePassword, "password", fresh).redirectsTo("/settings").is(200).shows("Changed the password")
		other.get("/queues").redirectsTo("/login?next=%2Fqueues")
		inst.browser().post("/login", "name", "maya", "password", pagePassword).is(401)
		third := inst.browser()
		third.post("/login", "name", "maya", "password", fresh).is(303)
		third.post("/logout").is(303) // otherwise two sessions in the list below have the same time
	})
	t.Run("each session is listed and has a button that ends it", func(t *testing.T) {
		another := inst.browser()
		another.post("/login", "name", "maya", "password", fresh).is(303)
		page := b.get("/settings").shows("This browser", "Sign out")
		id := page.field("/settings/sessions/end", "session")
		vera := inst.person("vera", task.RoleViewer)
		vera.post("/settings/sessions/end", "session", id).is(404) // not hers
		another.get("/queues").is(200)
		b.post("/settings/sessions/end", "session", id).redirectsTo("/settings").shows("Signed out that browser")
		another.get("/queues").redirectsTo("/login?next=%2Fqueues")
		b.get("/settings").hides(id)
		b.post("/settings/sessions/end", "session", id).is(404)
	})
	t.Run("signing out everywhere ends this session and the others", func(t *testing.T) {
		third := inst.browser()
		third.post("/login", "name", "maya", "password", fresh).is(303)
		gone := b.post("/settings/signout")
		if got := gone.header.Get("Clear-Site-Data"); got != `"storage"` {
			t.Errorf("got Clear-Site-Data %q", got)
		}
		gone.redirectsTo("/login")
		b.get("/queues").redirectsTo("/login?next=%2Fqueues")
		third.get("/queues").redirectsTo("/login?next=%2Fqueues")
	})
}

func TestPeople(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	t.Run("a wrong password keeps name and role", func(t *testing.T) {
		for _, name := range []string{"ve\u202era", "ve\u200bra", "ve ra", "<b>", "user:x"} {
			b.post("/settings/people", "name", name, "password", pagePassword, "role", "viewer").is(422).shows("May contain only letters")
		}
		b.post("/settings/people", "name", "vera", "password", "short", "role", "viewer").is(422).
			shows("Must be at least 12 characters", `value="vera"`, `value="viewer" selected`)
	})
	t.Run("every wrong field is marked", func(t *testing.T) {
		b.post("/settings/people", "name", "ve ra", "password", "short", "role", "viewer").is(422).shows(`id="name-err"`, `id="password-err"`)
		b.post("/settings/tokens", "name", " ", "scope", "read", "days", "9999").is(422).shows(`id="name-err"`, `id="days-err"`)
		b.post("/settings/tokens", "name", " ", "scope", "agent", "days", "soon").is(422).
			shows(`id="name-err"`, `id="agent-err"`, `id="days-err"`, `value="soon"`).hides(`id="scope-err"`)
		b.post("/agents/coder/connect", "name", " ", "days", "soon").is(422).shows(`id="name-err"`, `id="days-err"`)
	})
	b.post("/settings/people", "name", "vera", "password", pagePassword, "role",
		"viewer").redirectsTo("/settings/people").shows("Added vera", `id="user-2"`, ">now<", "no spaces")
	t.Run("names are unique", func(t *testing.T) {
		b.post("/settings/people", "name", "vera", "password", pagePassword, "role", "viewer").is(409).shows("The name vera is taken")
	})
	t.Run("a new role ends the sessions of the person", func(t *testing.T) {
		vera := inst.signIn("vera")
		b.post("/settings/people/2/role", "role", "operator").redirectsTo("/settings/people").shows("Saved vera")
		vera.get("/queues").redirectsTo("/login?next=%2Fqueues")
		inst.signIn("vera").get("/tasks/new").is(200)
	})
	t.Run("a disabled person is signed out at once and can be enabled again", func(t *testing.T) {
		vera := inst.signIn("vera")
		b.post("/settings/people/2/disable").redirectsTo("/settings/people").shows("disabled")
		vera.get("/queues").is(303)
		inst.browser().post("/login", "name", "vera", "password", pagePassword).is(401)
		b.post("/settings/people/2/enable").redirectsTo("/settings/people")
		inst.signIn("vera")
	})
	t.Run("the last admin cannot be removed", func(t *testing.T) {
		b.post("/settings/people/1/role", "role", "viewer").is(409).shows("is the last admin")
		b.get("/settings/people").is(200)
	})
	t.Run("an admin who disables themselves is signed out", func(t *testing.T) {
		b.post("/settings/people", "name", "iris", "password", pagePassword, "role", "admin").is(303)
		inst.signIn("iris").post("/settings/people/3/disable").redirectsTo("/login")
	})
	t.Run("an admin who steps down stays signed in with the new role", func(t *testing.T) {
		b.post("/settings/people/2/role", "role", "admin").is(303)
		b.post("/settings/people/1/role", "role", "operator").redirectsTo("/settings").is(200)
		b.get("/settings/people").is(403)
	})
}

func TestAReviewerCreatesPersonalTokens(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	admin, b := inst.maya(), inst.person("rita", task.RoleReviewer)
	admin.post("/settings/tokens", "name", "mayas", "scope", "read", "days", "30", "own", "1").is(200).shows("acts as you")
	b.get("/settings").is(200).shows("/settings/tokens")
	b.get("/settings/tokens").is(200).shows(`value="review" selected`).
		hides(`value="admin"`, `value="worker"`, `id="agent"`, "act_as", "mayas")
	a := b.post("/settings/tokens", "name", "laptop", "scope", "review", "days", "30").is(200).shows("laptop is ready", "acts as you").
		hides("claude mcp add")
	_, rest, _ := strings.Cut(a.body, "TASKYARD_TOKEN=")
	actor, err := inst.svc.Authenticate(t.Context(), rest[:strings.IndexAny(rest, "<\n& ")], "")
	if err != nil || actor.Name != "user:rita" || actor.Role != task.RoleReviewer {
		t.Fatalf("got token of %+v, %v", actor, err)
	}
	b.post("/settings/tokens", "name", "more", "scope", "admin", "days", "30").is(422).shows("Must not exceed the role of rita")
	b.post("/settings/tokens", "name", "more", "scope", "agent", "agent", "coder", "days", "30").is(422).shows("must be left out")
	admin.get("/settings/tokens").is(200).shows("as rita", "as maya")
	b.post("/settings/tokens/1/revoke").is(404)
	b.post("/settings/tokens/2/revoke").redirectsTo("/settings/tokens").shows("revoked")
}

func TestTokensAreShownOnce(t *testing.T) {
	t.Parallel()
	inst := newSite(t)
	b := inst.maya()
	a := b.post("/settings/tokens", "name", "laptop", "scope", "agent", "agent", "coder", "days",
		"30").is(200).shows("laptop is ready", "TASKYARD_TOKEN=ty_", "$TASKYARD_URL/api/agents/coder/signup",
		"claude mcp add --transport http taskyard "+inst.url+"/mcp --header", "&#34;url&#34;: &#34;"+
			inst.url+"/mcp&#34;", "&#34;args&#34;: [&#34;mcp&#34;]")
	if cc := a.header.Get("Cache-Control"); cc != "no-store" {
		t.Errorf("got Cache-Control %q, want no-store", cc)
	}
	_, rest, _ := strings.Cut(a.body, "TASKYARD_TOKEN=")
	secret := rest[:strings.IndexAny(rest, "<\n& ")]
	if _, err := inst.svc.Authenticate(context.Background(), secret, ""); err != nil {
		t.Fatalf("the displayed token %q does not work: %v", secret, err)
	}
	b.get("/settings/tokens").is(200).hides(secret).shows("laptop", secret[:9])

	t.Run("an invalid form keeps its input", func(t *testing.T) {
		b.post("/settings/tokens", "name", "", "scope", "read", "days", "30").is(422).shows("Must not be blank", `value="read" selected`)
		b.post("/settings/tokens", "name", "x", "scope", "agent", "days", "30").is(422).shows("Choose an agent", `value="x"`)
		b.post("/settings/tokens", "name", "x", "scope", "read", "days", "many").is(422).shows("Must be a whole number", `value="many"`)
		b.post("/settings/tokens", "name", "x", "scope", "agent", "agent", "ghost", "days", "1").is(422).shows("Unknown agent")
	})
	t.Run("a revoked token stops working at once", func(t *testing.T) {
		b.post("/settings/tokens/1/revoke").redirectsTo("/settings/tokens").shows("revoked")
		if _, err := inst.svc.Authenticate(context.Background(), secret, ""); err == nil {
			t.Fatal("the revoked token still works")
		}
		b.post("/settings/tokens/99/revoke").is(404)
	})
	t.Run("act-as is combined with a scope", func(t *testing.T) {
		b.post("/settings/tokens", "name", "bridge", "scope", "operate", "act_as", "1", "days", "1").is(200).shows("operate, act-as")
	})
}

func TestASuspendedServerEndsNoSessions(t *testing.T) {
	inst := newSite(t)
	b := inst.maya()
	look := func() { inst.ok(inst.svc.CheckClock(context.Background())) }
	look()
	inst.Forward(9 * time.Hour) // the machine slept
	look()
	b.get("/queues").is(200).shows("maya")
	for range 9 * 60 * 60 / 5 { // the server ran without requests
		inst.Forward(5 * time.Second)
		look()
	}
	b.get("/queues").redirectsTo("/login?next=%2Fqueues")
}
