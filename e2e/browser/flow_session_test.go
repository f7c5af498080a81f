package browser

import "testing"

func TestTheOneTimeLinkMakesTheFirstAdmin(t *testing.T) {
	t.Parallel()
	y := openInstance(t, agentFiles)
	b := newTab(t, y.url)
	b.open("/setup?token=" + must(y.svc.SetupLink(ctx)))
	b.fill("#name", "maya")
	b.fill("#password", password)
	b.fill("#password2", "something else entirely")
	b.expect("422")
	b.press("button|Create account")
	b.see("is not the same as the first")
	b.fill("#password", password)
	b.fill("#password2", password)
	b.press("button|Create account")
	b.at("/")
	b.press("button|Sign out")
	b.at("/login")
	b.fill("#name", "maya")
	b.fill("#password", "not the password")
	b.expect("401")
	b.press("button|Sign in")
	b.see("Wrong name or password")
	b.fill("#password", password)
	b.press("button|Sign in")
	b.at("/")
}
