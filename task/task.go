package task

import "slices"

// Task is a unit of work with exactly one owner, an agent.
type Task struct {
	ID           ID         `json:"id"`
	Title        string     `json:"title" doc:"1 to 200 characters"`
	Description  string     `json:"description,omitempty" doc:"at most 64 KiB"`
	Owner        string     `json:"owner" doc:"agent id"`
	CreatedBy    string     `json:"createdBy" doc:"agent id, user:NAME or system"`
	TitleBy      string     `json:"titleBy,omitempty" doc:"who last changed the title, if not createdBy; import if it was imported"`
	TextBy       string     `json:"descriptionBy,omitempty" doc:"who last changed the description, if not createdBy"`
	Status       Status     `json:"status" enum:"draft,active,done,canceled"`
	WorkStatus   WorkStatus `json:"workStatus,omitempty" enum:"idle,working,complete"`
	Priority     int        `json:"priority" doc:"higher values come first"`
	Version      int64      `json:"version" doc:"increases with every change"`
	Steps        []Step     `json:"steps"`
	Resources    []Resource `json:"resources"`
	ParentTaskID ID         `json:"parentTaskId,omitzero"`
	BlockedBy    []ID       `json:"blockedBy" doc:"ids of tasks that must be done first, including those that are done"`
	Labels       []string   `json:"labels" doc:"sorted words of a-z, 0-9 and -"`
	ThreadID     ID         `json:"threadId"`
	Channel      string     `json:"channel,omitempty"`
	Project      string     `json:"project,omitempty" doc:"key of its project"`
	Demands
	WaitingFor WaitingFor `json:"waitingFor,omitempty" enum:"user,approval,tasks,review,merge"`
	Claim      *Claim     `json:"claim,omitempty"`
	Summary    string     `json:"summary,omitempty"`
	CreatedAt  Time       `json:"createdAt"`
	UpdatedAt  Time       `json:"updatedAt"`
	ArchivedAt Time       `json:"archivedAt,omitzero"`

	// Comments and Links are there "with relations" only.
	Comments []Comment `json:"comments,omitzero"`
	Links    []Link    `json:"links,omitzero" doc:"the resources, with the names url and description"`

	// Runs and Subtasks are the task's history, with relations and if there is
	// any: the newest ones, in the order of their creation.
	Runs     []PastRun `json:"runs,omitempty" doc:"its most recent ended runs, at most 5"`
	Subtasks []Subtask `json:"subtasks,omitempty" doc:"its most recent subtasks, at most 20"`

	// Review is the state of the last result, for a task of a project.
	Review *TaskReview `json:"review,omitempty"`

	Cut []string `json:"cut,omitzero" doc:"what was left out or shortened to limit the size: comments (GET /api/tasks/{id}/comments has all), details (of steps with detailsCut: GET /api/tasks/{id}/steps/{index}), runs (GET /api/tasks/{id}/runs), subtasks (each by its id), checks (GET /api/tasks/{id}/checks), resources, description"`

	// For the server's own use; never in JSON.
	QuestionID   ID         `json:"-"` // open question's message, or 0
	OpenRunID    ID         `json:"-"` // waiting or running run, or 0
	OpenRunPhase Phase      `json:"-"` // phase of the open run
	Failures     int        `json:"-"` // failed runs in a row
	LastFailure  string     `json:"-"` // reason of the last failed run while Failures > 0
	CommentCount int        `json:"-"`
	StepsDone    int        `json:"-"` // filled in lists, where Steps is empty
	StepsTotal   int        `json:"-"`
	Nesting      int        `json:"-"` // 0 for a task without parent
	Awaits       WaitingFor `json:"-"` // what its result waits for: review, merge, or "" for nothing

	// How many blockers are not done, and how many of these were canceled.
	Blocked          int `json:"-"`
	BlockersCanceled int `json:"-"`
}

// Responsible are the agents whose definitions bind the task: its owner, and
// those that stay bound.
func (t *Task) Responsible() []string {
	list := []string{t.Owner}
	for _, id := range t.BoundBy {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// Claim is the lease of whoever is working on a task.
type Claim struct {
	ID        int64  `json:"id" doc:"fencing token: a stale id is refused"`
	Holder    string `json:"holder"`
	Since     Time   `json:"since"`
	ExpiresAt Time   `json:"expiresAt"`
}

// Live reports whether the lease still holds at now.
func (c *Claim) Live(now Time) bool { return c != nil && c.ExpiresAt > now }

// Step is one line of a task's plan.
type Step struct {
	Title   string `json:"title" doc:"1 to 60 characters"`
	Details string `json:"details,omitempty"`
	Done    bool   `json:"done"`
	TaskID  ID     `json:"taskId,omitzero" doc:"the linked subtask"`

	DetailsCut int `json:"detailsCut,omitzero" doc:"bytes of details that were left out to limit the size of the response"`
}

// Resource is an attached URL or file.
type Resource struct {
	Type  string `json:"type" enum:"url,file"`
	Value string `json:"value" doc:"http, https or mailto URL, or absolute path"`
	Label string `json:"label,omitempty"`
}

// Link is a resource under the names that agents of the first hour know.
type Link struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// ToLinks converts resources to links.
func ToLinks(rs []Resource) []Link {
	links := make([]Link, len(rs))
	for i, r := range rs {
		links[i] = Link{r.Value, r.Label}
	}
	return links
}

// Comment is a message of people or agents in a task's thread.
type Comment struct {
	ID        ID          `json:"id"`
	Author    string      `json:"author" doc:"agent id, user:NAME or system"`
	Kind      MessageKind `json:"kind,omitempty" doc:"comment, handoff (of move), notice, question, answer or system"`
	Content   string      `json:"content"`
	CreatedAt Time        `json:"createdAt"`
	Imported  bool        `json:"imported,omitzero" doc:"true: it was imported, with the author named in the file"`
}

// Derive fills WorkStatus and WaitingFor and drops a claim that is no longer
// live at now.
func (t *Task) Derive(now Time) {
	if !t.Claim.Live(now) {
		t.Claim = nil
	}
	t.WorkStatus, t.WaitingFor = "", ""
	switch {
	case t.Status == Done:
		t.WorkStatus = Complete
	case t.Status == Active && t.Claim != nil:
		t.WorkStatus = Working
	case t.Status == Active:
		t.WorkStatus = Idle
	}
	if t.Status != Active {
		return
	}
	switch {
	case t.QuestionID != 0:
		t.WaitingFor = WaitsUser
	case t.OpenRunPhase == PhaseApproval, t.OpenRunPhase == PhasePermission:
		t.WaitingFor = WaitsApproval
	case t.Awaits != "":
		t.WaitingFor = t.Awaits
	case t.Blocked > 0:
		t.WaitingFor = WaitsTasks
	}
}

// DoneSteps returns how many steps are done and how many there are.
func (t *Task) DoneSteps() (done, total int) {
	if t.Steps == nil {
		return t.StepsDone, t.StepsTotal
	}
	for _, s := range t.Steps {
		if s.Done {
			done++
		}
	}
	return done, len(t.Steps)
}

// New is what a caller says of a task to be made.
type New struct {
	Title       string
	Description string
	Owner       string
	Status      Status // Draft or Active; "" means Active
	Priority    int
	Steps       []Step
	Resources   []Resource
	Labels      []string
	BlockedBy   []ID   // tasks that must be done first
	Channel     string // "" means web
	Project     string // key of a project, "" for none
	Checks      []Check
	Policy      *Review // nil: none
	NoStart     bool    // an active task does not wake its owner
}

// Patch is what a caller wants changed; nil fields stay.
type Patch struct {
	Title       *string
	Description *string
	Priority    *int
	Owner       *string
	Status      *string // both vocabularies
	Labels      *[]string
	Project     *string
	Checks      *[]Check
	Policy      *Review // of no approvals: none
	Version     int64   // 0: whatever it is
}

// Empty reports whether nothing is to be changed.
func (p Patch) Empty() bool {
	return p.Title == nil && p.Description == nil && p.Priority == nil && p.Owner == nil && p.Status == nil && p.Labels == nil &&
		p.Project == nil && p.Checks == nil && p.Policy == nil
}

// StepPatch is what a caller wants changed in one step; nil fields stay.
type StepPatch struct {
	Title   *string
	Details *string
	Done    *bool
}
