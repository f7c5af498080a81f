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

// Chrome is what every page needs in addition to its own model: the viewer, the
// contents of the navigation, and the page's own URL.
type Chrome struct {
	User             string // bare name, such as maya; "": not signed in
	Role             task.Role
	FormToken        string // in every form as _token
	Nav              NavCounts
	Agents           []NavAgent
	MoreAgents       int              // agents that the navigation omits
	Views            []task.SavedView // the person's own
	NewView          NewView          // that could not be saved, if any
	Projects         []string         // keys of those that accept tasks
	Scheduler        SchedulerLine
	Pauses           task.Pauses // what is paused now
	Fault            string      // why nothing can be stored, and what to do; "": no problem
	Prefs            task.Preferences
	KeysOff          bool   // this person has disabled single-key shortcuts
	Theme            string // "light", "dark" or "": the browser's preference
	Appearance       Appearance
	Zone             *time.Location // time zone for times; nil: UTC
	Flash            Flash
	PendingDecisions []task.Run // decisions of this person that can still be undone
	CanWrite         bool       // may create and change tasks
	CanDecide        bool       // may decide approvals
	CanAdmin         bool       // may change agents, people, tokens, settings
	Now              task.Time
	Gen              uint64        // changes so far; compared by the live stream
	Drawn            *ui.PartCache // rendered parts of boards, shared by everyone; nil: no cache
	Path             string        // path and query of this page, to refetch its live parts
	Plain            bool          // the request came unencrypted over a network
	From             string        // the page that linked to this one, if known; its form returns there
}

// state returns the state for the cache of board parts.
func (c Chrome) state() ui.PartState {
	return ui.PartState{Gen: c.Gen, Second: int64(c.Now) / 1000}
}

// NavCounts are the numbers of the navigation.
type NavCounts struct {
	Inbox     int // items that wait for a person, including approvals
	Approvals int // runs that wait for a decision
	Queued    int // active tasks
	Open      int // open tasks, including drafts
}

// NavAgent is an agent in the navigation.
type NavAgent struct {
	ID      string
	Count   int      // active tasks
	Glyph   ui.Glyph // GlyphWork, GlyphWait, GlyphFail or GlyphIdle
	Invalid bool     // its definition is invalid
}

// SchedulerLine is the footer of the navigation.
type SchedulerLine struct {
	On       bool
	NextTick task.Time
}

// Flash is the message of the last action on the next page.
type Flash struct {
	Text    string
	Bad     bool
	Skipped []string // what a bulk action skipped, and why
	Undo    *Undo    // undoes the action
}

// title returns the tab's title, beginning with what waits for a person.
func (c Chrome) title(title string) string {
	t := title + " · Taskyard"
	if c.Nav.Inbox > 0 {
		t = "(" + task.ID(c.Nav.Inbox).String() + ") " + t
	}
	return t
}

// generation returns the number of changes in the form that the page contains.
func generation(c Chrome) string { return strconv.FormatUint(c.Gen, 10) }

// needsYouText returns the text after a number of items that wait for the reader.
func needsYouText(n int) string {
	if n == 1 {
		return " needs you"
	}
	return " need you"
}

// keys returns whether single-key shortcuts are enabled, for scripts.
func (c Chrome) keys() string {
	if c.KeysOff {
		return "off"
	}
	return "on"
}

// path returns the URL of this page without its query.
func (c Chrome) path() string {
	p, _, _ := strings.Cut(c.Path, "?")
	return p
}

// current returns the attributes of a link in the navigation: aria-current on
// the page itself and on the pages below it.
func (c Chrome) current(path string) templ.Attributes {
	if p := c.path(); p == path || strings.HasPrefix(p, path+"/") {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// backURL returns the page that linked to this one, or else to.
func (c Chrome) backURL(to string) string { return cmp.Or(c.From, to) }

// Live returns the attributes of a part that is refetched when the server
// reports a change of one of its topics (separated by spaces). id is the part's
// own ID; also contains IDs of other parts of the page that the same answer
// updates. It always updates the navigation and the frame.
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
