package views

import (
	"cmp"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"taskyard/task"
	"taskyard/views/ui"
)

// Chrome is what every page needs besides its own model: who looks, what the
// navigation shows, and the page's own address.
type Chrome struct {
	User             string // bare name, such as maya; "" when nobody is signed in
	Role             task.Role
	FormToken        string // goes into every form as _token
	Nav              NavCounts
	Agents           []NavAgent
	MoreAgents       int              // agents that the navigation leaves out
	Views            []task.SavedView // the person's own
	Projects         []string         // keys of those that take tasks
	Scheduler        SchedulerLine
	Pauses           task.Pauses // what is paused now
	Fault            string      // why nothing can be stored, with what to do; "" when all is well
	Prefs            task.Preferences
	KeysOff          bool   // this person wants no single-key shortcuts
	Theme            string // "light", "dark" or "" for the browser's wish
	Appearance       Appearance
	Zone             *time.Location // in which times are told; nil means UTC
	Flash            Flash
	PendingDecisions []task.Run // decisions of this person that can still be undone
	CanWrite         bool       // may create and change tasks
	CanDecide        bool       // may decide approvals
	CanAdmin         bool       // may change agents, people, tokens, settings
	Now              task.Time
	Gen              uint64        // changes so far; the live stream compares it with its own
	Drawn            *ui.PartCache // parts of boards, for everybody; nil keeps none
	Path             string        // path and query of this page; live parts refetch it
	Plain            bool          // the request came unencrypted over a network
	From             string        // the page that asked for this one, where it said so; its form leads there
}

// state is what parts of a board are drawn from.
func (c Chrome) state() ui.PartState {
	return ui.PartState{Gen: c.Gen, Second: int64(c.Now) / 1000}
}

// NavCounts are the numbers of the navigation.
type NavCounts struct {
	Inbox     int // what waits for a person, approvals too
	Approvals int // runs that wait for a decision
	Queued    int // active tasks
	Open      int // open tasks, drafts too
}

// NavAgent is an agent in the navigation.
type NavAgent struct {
	ID      string
	Count   int      // active tasks
	Glyph   ui.Glyph // GlyphWork, GlyphWait, GlyphFail or GlyphIdle
	Invalid bool     // its definition is invalid
}

// SchedulerLine is the foot of the navigation.
type SchedulerLine struct {
	On       bool
	NextTick task.Time
}

// Flash is what the last act says on the next page.
type Flash struct {
	Text    string
	Bad     bool
	Skipped []string // what an act on many left as it was, and why
	Undo    *Undo    // takes the act back
}

// title returns the tab's title: what waits for a person comes first.
func (c Chrome) title(title string) string {
	t := title + " · Taskyard"
	if c.Nav.Inbox > 0 {
		t = "(" + task.ID(c.Nav.Inbox).String() + ") " + t
	}
	return t
}

// generation is the number of changes as the page carries it.
func generation(c Chrome) string { return strconv.FormatUint(c.Gen, 10) }

// needYou follows a number of things that wait for the reader.
func needYou(n int) string {
	if n == 1 {
		return " needs you"
	}
	return " need you"
}

// keys says whether single keys do anything, as scripts read it.
func (c Chrome) keys() string {
	if c.KeysOff {
		return "off"
	}
	return "on"
}

// path returns the address of this page without its query.
func (c Chrome) path() string {
	p, _, _ := strings.Cut(c.Path, "?")
	return p
}

// current returns the attributes of a link of the navigation: aria-current on the
// page itself and on the pages below it.
func (c Chrome) current(path string) templ.Attributes {
	if p := c.path(); p == path || strings.HasPrefix(p, path+"/") {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// wayBack returns the page that somebody came from, else to.
func (c Chrome) wayBack(to string) string { return cmp.Or(c.From, to) }

// Live returns the attributes of a part that refetches itself when one of its
// topics (separated by spaces) is named by the server. id is the part's own id;
// also are ids of other parts of the page to be renewed by the same answer.
// The navigation and the frame always are.
func Live(c Chrome, id, topics string, also ...string) templ.Attributes {
	oob := "#nav:morph,#clock:morph,#frame:morph"
	for _, a := range also {
		oob += ",#" + a + ":morph"
	}
	return templ.Attributes{
		"id": id, "data-live": topics, "hx-get": c.Path, "hx-trigger": "live", "hx-target": "#" + id,
		"hx-select": "#" + id, "hx-select-oob": oob, "hx-swap": "morph:outerHTML", "hx-ext": "morph",
	}
}

// NewKey returns a fresh idempotency key.
func NewKey() string { return rand.Text() }

const htmxConfig = `{"allowEval":false,"includeIndicatorStyles":false,"disableInheritance":true,"historyCacheSize":0,` +
	`"historyRestoreAsHxRequest":false,"selfRequestsOnly":true,"allowScriptTags":false,"timeout":20000,"defaultSettleDelay":0,` +
	`"responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"422","swap":true},` +
	`{"code":"[45]..","swap":false,"error":true}]}`
