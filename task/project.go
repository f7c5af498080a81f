package task

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskyard/internal/lazyregexp"
)

// Bounds of projects.
const (
	MaxProjects     = 500
	MaxProjectName  = 100       // characters
	MaxCommand      = 4096      // bytes of the command of a check or of the setup
	MaxChecks       = 20        // checks a project or task
	MaxSetup        = 10        // commands of the setup
	MaxCheckTime    = time.Hour // of one check
	MaxCheckLog     = 256 << 10 // bytes that are kept of what a check prints, its end
	MaxApprovals    = 10        // votes that a policy may ask for
	MaxExpires      = 365 * 24 * 3600
	maxReviewers    = 50  // names of a policy
	MaxBranchName   = 200 // bytes
	checkTimeout    = 10 * time.Minute
	defaultBranch   = "main"
	defaultPrefix   = "taskyard/"
	keepBranchHours = 7 * 24
)

// Project is where tasks change code: a Git repository, what is checked before
// a task is done, who must accept its result, and where that is merged.
type Project struct {
	Key           string   `json:"key" doc:"1 to 32 characters of a-z, 0-9 and -"`
	Name          string   `json:"name" doc:"1 to 100 characters"`
	Description   string   `json:"description,omitempty" doc:"at most 64 KiB"`
	Repository    string   `json:"repository,omitempty" doc:"absolute path of a Git repository on the server; empty: its tasks have checks and reviews, but no branch"`
	DefaultBranch string   `json:"defaultBranch,omitempty" doc:"where the branches of tasks start"`
	BranchPrefix  string   `json:"branchPrefix,omitempty" doc:"prefix of the branches of tasks"`
	Setup         []string `json:"setup" doc:"commands that run once in a new worktree, in order; at most 10"`
	Checks        []Check  `json:"checks" doc:"at most 20"`
	Review        Review   `json:"review"`
	Merge         *Merge   `json:"merge,omitempty" doc:"absent: nothing is merged"`
	Archived      bool     `json:"archived,omitempty" doc:"true: it takes no new tasks"`
	Version       int64    `json:"version" doc:"increases with every change"`
	CreatedAt     Time     `json:"createdAt"`
	UpdatedAt     Time     `json:"updatedAt"`
}

// Check is evidence that the server gathers itself before a task is done.
type Check struct {
	Name           string    `json:"name" doc:"1 to 32 characters of a-z, 0-9, - and _"`
	Kind           CheckKind `json:"kind,omitempty" enum:"command,file,changed,url" doc:"default command"`
	Run            string    `json:"run,omitempty" doc:"for kind command: the shell command, which runs in the worktree"`
	Path           string    `json:"path,omitempty" doc:"for kind file: its path in the worktree; it must exist"`
	Glob           string    `json:"glob,omitempty" doc:"for kind changed: a file whose path matches must have changed; ** matches any folders"`
	TimeoutSeconds int       `json:"timeoutSeconds,omitempty" doc:"for kind command: 1 to 3600; default 600"`
	Required       bool      `json:"required" doc:"true: the task cannot be completed until it passes"`
	Network        bool      `json:"network,omitempty" doc:"true: the command may use the network"`
}

// CheckKind is a kind of evidence.
type CheckKind string

// The kinds of evidence.
const (
	CheckCommand CheckKind = "command" // a command that exits with 0
	CheckFile    CheckKind = "file"    // a file that exists
	CheckChanged CheckKind = "changed" // a file that changed
	CheckURL     CheckKind = "url"     // a URL among the task's resources
)

// Timeout is how long the command may take.
func (c Check) Timeout() time.Duration {
	return cmp.Or(time.Duration(c.TimeoutSeconds)*time.Second, checkTimeout)
}

// Review says who must accept a result before its task is done.
type Review struct {
	Approvals      int      `json:"approvals" doc:"how many people must accept; 0: nobody"`
	From           []string `json:"from,omitempty" doc:"names of people or roles whose votes count; empty: all reviewers"`
	ExpiresSeconds int      `json:"expiresSeconds,omitempty" doc:"after this time the reviewers are reminded and the stand-in is asked; nothing is accepted automatically"`
	StandIn        string   `json:"standIn,omitempty" doc:"name of a person who may also accept after that"`
}

// Merge says where accepted results go.
type Merge struct {
	Into            string      `json:"into" doc:"target branch; default: the default branch"`
	Method          MergeMethod `json:"method" enum:"squash,rebase,ff" doc:"default squash"`
	Checks          []Check     `json:"checks" doc:"commands that run on the merged tree before the branch moves; all of them must pass"`
	KeepBranchHours int         `json:"keepBranchHours,omitempty" doc:"how long the branch of a merged task is kept; default 168"`
	Push            string      `json:"push,omitempty" doc:"name of the remote to push the branch to; empty: none"`
}

// MergeMethod says how a change gets onto its target.
type MergeMethod string

// The methods.
const (
	MergeSquash MergeMethod = "squash" // one commit with the task's title
	MergeRebase MergeMethod = "rebase" // its commits, on the target's head
	MergeFF     MergeMethod = "ff"     // its commits, only where the target has not moved
)

var (
	projectKey = lazyregexp.New(`^[a-z0-9-]{1,32}$`)
	checkName  = lazyregexp.New(`^[a-zA-Z0-9_-]{1,32}$`)
	// What Git allows in the name of a branch, and a little less: no name
	// that a shell or an option parser would read as something else.
	branchName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)
)

// ValidProjectKey reports whether s can be the key of a project.
func ValidProjectKey(s string) bool { return projectKey().MatchString(s) }

// ValidBranch reports whether s can name a branch.
func ValidBranch(s string) bool {
	return len(s) <= MaxBranchName && branchName().MatchString(s) && !strings.Contains(s, "..") && !strings.Contains(s, "//") &&
		!strings.Contains(s, "/.") && !strings.HasSuffix(s, "/") && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ".lock") &&
		!strings.Contains(s, ".lock/") && s != "HEAD"
}

// Fill sets what is not given.
func (p *Project) Fill() {
	p.Name = cmp.Or(p.Name, p.Key)
	if p.Setup == nil {
		p.Setup = []string{}
	}
	if p.Checks == nil {
		p.Checks = []Check{}
	}
	if p.Repository != "" {
		p.Repository = filepath.Clean(p.Repository)
		p.DefaultBranch = cmp.Or(p.DefaultBranch, defaultBranch)
		p.BranchPrefix = cmp.Or(p.BranchPrefix, defaultPrefix)
	}
	if m := p.Merge; m != nil {
		m.Into = cmp.Or(m.Into, p.DefaultBranch)
		m.Method = cmp.Or(m.Method, MergeSquash)
		m.KeepBranchHours = cmp.Or(m.KeepBranchHours, keepBranchHours)
		if m.Checks == nil {
			m.Checks = []Check{}
		}
		for i := range m.Checks {
			m.Checks[i].Required = true
		}
		p.Review.Approvals = cmp.Or(p.Review.Approvals, 1) // what is merged is accepted by somebody
	}
}

// CheckProject reports every wrong field of a project that is filled.
func (p *Problems) CheckProject(in *Project) {
	if !ValidProjectKey(in.Key) {
		p.Add("key", "must be 1 to 32 characters of a-z, 0-9 and -")
	}
	p.CheckLine("name", in.Name, MaxProjectName)
	p.CheckText("description", in.Description, MaxText)
	if in.Repository != "" {
		switch {
		case !p.CheckText("repository", in.Repository, MaxResource):
		case !filepath.IsAbs(in.Repository):
			p.Add("repository", "must be the absolute path of a Git repository on the server")
		}
		if !ValidBranch(in.DefaultBranch) {
			p.Add("defaultBranch", "must be the name of a branch, such as main")
		}
		if !ValidBranch(in.BranchPrefix + "x") {
			p.Add("branchPrefix", "must begin the name of a branch, such as taskyard/")
		}
	}
	if len(in.Setup) > MaxSetup {
		p.Add("setup", "must be at most %d commands", MaxSetup)
	}
	if in.Repository == "" && len(in.Setup) > 0 {
		p.Add("setup", "needs a repository: it runs in its worktrees")
	}
	for i, s := range in.Setup {
		p.CheckLine("setup["+ID(i).String()+"]", s, MaxCommand/4)
	}
	p.CheckChecks("checks", in.Checks, in.Repository != "")
	p.CheckReview("review", in.Review)
	if in.Merge != nil {
		p.checkMerge(in)
	}
}

// CheckChecks reports every wrong check. Without tree, there is no worktree for
// checks that need one.
func (p *Problems) CheckChecks(field string, list []Check, tree bool) {
	if len(list) > MaxChecks {
		p.Add(field, "must be at most %d checks", MaxChecks)
		return
	}
	seen := map[string]bool{}
	for i, c := range list {
		at := field + "[" + ID(i).String() + "]."
		switch {
		case !checkName().MatchString(c.Name):
			p.Add(at+"name", "must be 1 to 32 characters of a-z, A-Z, 0-9, - and _")
		case seen[c.Name]:
			p.Add(at+"name", "names a second check %s", c.Name)
		}
		seen[c.Name] = true
		if c.TimeoutSeconds < 0 || c.Timeout() > MaxCheckTime {
			p.Add(at+"timeoutSeconds", "must be 1 to %d", int(MaxCheckTime/time.Second))
		}
		if !tree && c.Kind != CheckURL {
			p.Add(at+"kind", "must be url where the project has no repository")
			continue
		}
		switch c.Kind {
		case CheckCommand, "":
			if p.CheckText(at+"run", c.Run, MaxCommand) && isBlank(c.Run) {
				p.Add(at+"run", "must not be blank: write the command that is run")
			}
		case CheckFile:
			if p.CheckText(at+"path", c.Path, MaxFilePath) && !filepath.IsLocal(c.Path) {
				p.Add(at+"path", "must be a path below the worktree")
			}
		case CheckChanged:
			if p.CheckText(at+"glob", c.Glob, MaxFilePath) && isBlank(c.Glob) {
				p.Add(at+"glob", "must not be blank: write a pattern such as docs/**")
			}
		case CheckURL:
		default:
			p.Add(at+"kind", "must be command, file, changed or url")
		}
	}
}

// CheckReview reports every wrong part of a policy.
func (p *Problems) CheckReview(field string, r Review) {
	if r.Approvals < 0 || r.Approvals > MaxApprovals {
		p.Add(field+".approvals", "must be 0 to %d", MaxApprovals)
	}
	if len(r.From) > maxReviewers {
		p.Add(field+".from", "must be at most %d names", maxReviewers)
	}
	for i, name := range r.From {
		p.CheckLine(field+".from["+ID(i).String()+"]", name, 64)
	}
	if r.ExpiresSeconds < 0 || r.ExpiresSeconds > MaxExpires {
		p.Add(field+".expiresSeconds", "must be 0 to %d (a year)", MaxExpires)
	}
	if r.StandIn != "" {
		p.CheckLine(field+".standIn", r.StandIn, 64)
		if r.ExpiresSeconds == 0 {
			p.Add(field+".standIn", "needs %s.expiresSeconds: after which time the stand-in is asked", field)
		}
	}
}

func (p *Problems) checkMerge(in *Project) {
	m := in.Merge
	if in.Repository == "" {
		p.Add("merge", "needs a repository")
		return
	}
	if m.Into != in.DefaultBranch && !ValidBranch(m.Into) {
		p.Add("merge.into", "must be the name of a branch, such as main")
	}
	if !slices.Contains([]MergeMethod{MergeSquash, MergeRebase, MergeFF}, m.Method) {
		p.Add("merge.method", "must be squash, rebase or ff")
	}
	p.CheckChecks("merge.checks", m.Checks, true)
	for i, c := range m.Checks {
		if c.Kind != "" && c.Kind != CheckCommand {
			p.Add("merge.checks["+ID(i).String()+"].kind", "must be command")
		}
	}
	if m.KeepBranchHours < 0 || m.KeepBranchHours > 365*24 {
		p.Add("merge.keepBranchHours", "must be 0 to 8760 (a year)")
	}
	if m.Push != "" && !ValidBranch(m.Push) {
		p.Add("merge.push", "must be the name of a remote, such as origin")
	}
}

// Branch is the branch of a task: prefix, id and the words of its title.
func (p *Project) Branch(id ID, title string) string {
	name := p.BranchPrefix + id.String()
	if slug := Slug(title, 40); slug != "" {
		name += "-" + slug
	}
	return name
}

// Slug makes lower-case words of a-z and 0-9 with - between them of a title, at
// most limit bytes; "" where nothing of it is left.
func Slug(title string, limit int) string {
	var b strings.Builder
	between := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for _, word := range strings.FieldsFunc(strings.ToLower(title), between) {
		switch {
		case b.Len() == 0:
			b.WriteString(word[:min(len(word), limit)])
		case b.Len()+1+len(word) > limit:
			return b.String()
		default:
			b.WriteString("-" + word)
		}
	}
	return b.String()
}

// Finding is one thing that was looked at, and whether it is as it should be.
type Finding struct {
	Level   Level  `json:"level" enum:"ok,warning,error"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Level is how bad a finding is.
type Level string

// The levels.
const (
	LevelOK      Level = "ok"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)
