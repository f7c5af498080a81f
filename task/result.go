package task

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Worktree names where the runs of a task of a project work.
type Worktree struct {
	TaskID     ID
	Title      string
	Repository string
	Target     string // branch against which its change is compared, and into which it is merged
	Branch     string // of the task
	Origin     ID     // the first run that worked in it, whose folder holds it; 0: no run has
}

// Revision is a state of a task's branch, against its target.
type Revision struct {
	Base  string       `json:"base" doc:"commit where the branch left the target"`
	Head  string       `json:"head" doc:"commit"`
	Patch string       `json:"patch" doc:"SHA-256 of the change in its canonical form, which a rebase does not change"`
	Files []FileChange `json:"files" doc:"by path, at most 1000; without lines"`
	Total int          `json:"total" doc:"number of all changed files"`
}

// Verdict is what a check found.
type Verdict string

// The verdicts.
const (
	CheckPassed   Verdict = "passed"
	CheckFailed   Verdict = "failed"
	CheckTimedOut Verdict = "timed_out"
	CheckNotRun   Verdict = "not_run"
)

// CheckRun is one execution of a check by the server.
type CheckRun struct {
	ID        ID      `json:"id"`
	TaskID    ID      `json:"taskId"`
	Name      string  `json:"name"`
	Command   string  `json:"command,omitempty" doc:"the command that ran, or the file or pattern that was checked"`
	Required  bool    `json:"required"`
	Commit    string  `json:"commit,omitempty"`
	Verdict   Verdict `json:"verdict" enum:"passed,failed,timed_out,not_run"`
	ExitCode  int     `json:"exitCode"`
	Reason    string  `json:"reason,omitempty" doc:"why it did not run or did not pass"`
	Millis    int64   `json:"millis"`
	Log       string  `json:"log,omitempty" doc:"the end of its output, at most 256 KiB, without secrets"`
	LogSHA256 string  `json:"logSha256,omitempty" doc:"SHA-256 of the stored log"`
	Level     string  `json:"level,omitempty" doc:"how it was confined, in plain text"`
	Merge     bool    `json:"merge,omitempty" doc:"true: it ran on the merged tree"`
	AskedBy   string  `json:"askedBy,omitempty" doc:"the person who ran it again; empty: it ran for a completion or a merge"`
	CreatedAt Time    `json:"createdAt"`
}

// FlagUnmergeable is the flag of a result whose commit, or several with its patch,
// could not be merged. It needs new votes.
const FlagUnmergeable = "unchanged since its merge failed"

// Result is what came out of a task, exactly as a reviewer accepts it. It
// never changes.
type Result struct {
	ID        ID          `json:"id"`
	TaskID    ID          `json:"taskId"`
	Number    int         `json:"number" doc:"counted from 1 in each task"`
	RunID     ID          `json:"runId,omitzero"`
	Author    string      `json:"author"`
	Summary   string      `json:"summary,omitempty"`
	Resources []Resource  `json:"resources"`
	Checks    []CheckRun  `json:"checks" doc:"without their logs"`
	Project   string      `json:"project,omitempty"`
	Branch    string      `json:"branch,omitempty"`
	Base      string      `json:"base,omitempty"`
	Head      string      `json:"head,omitempty"`
	Patch     string      `json:"patch,omitempty"`
	Digest    string      `json:"digest" doc:"SHA-256 of the change, the summary and the verdicts of required checks; send it to accept"`
	Policy    Accept      `json:"policy" doc:"the policy when the result was created"`
	Flags     []string    `json:"flags" doc:"warnings for reviewers, for example: no changes; check test failed"`
	CreatedAt Time        `json:"createdAt"`
	State     ResultState `json:"state" enum:"review,accepted,changes_requested,superseded,merged,done,canceled"`
	Votes     []Vote      `json:"votes"`
	Overlaps  []Overlap   `json:"alsoChangedBy,omitempty" doc:"other open results of the project that change the same files, at most 10"`
}

// Overlap is another open result of the project that changes the same files.
type Overlap struct {
	TaskID ID          `json:"taskId"`
	Title  string      `json:"title"`
	Result int         `json:"result" doc:"number of that result"`
	State  ResultState `json:"state" enum:"review,accepted"`
	Files  []string    `json:"files" doc:"files that both change, at most 5"`
	Total  int         `json:"total" doc:"number of these files"`
}

// Bounds of overlaps.
const (
	MaxOverlaps     = 10
	MaxOverlapFiles = 5 // named for each
)

// Names lists the files, with how many more there are: "a.go, b.go, 3 more".
func (o *Overlap) Names() string {
	s := strings.Join(o.Files, ", ")
	if more := o.Total - len(o.Files); more > 0 {
		s += fmt.Sprintf(", %d more", more)
	}
	return s
}

// ResultState is the state of a result.
type ResultState string

// The states of a result.
const (
	ResultReview     ResultState = "review"            // waits for people
	ResultAccepted   ResultState = "accepted"          // waits for its merge
	ResultChanges    ResultState = "changes_requested" // its owner works on it
	ResultSuperseded ResultState = "superseded"        // a newer one took its place
	ResultMerged     ResultState = "merged"            // its task is done
	ResultDone       ResultState = "done"              // accepted, or it needed nobody; nothing was to be merged
	ResultCanceled   ResultState = "canceled"          // its task was
)

// Final reports whether the state of the result can no longer change.
func (s ResultState) Final() bool { return s != ResultReview && s != ResultAccepted }

// Vote is the decision of one person on one digest.
type Vote struct {
	By     string `json:"by"`
	Role   Role   `json:"role,omitempty" doc:"role of the person when they voted"`
	Accept bool   `json:"accept" doc:"false: changes requested"`
	Digest string `json:"digest"`
	Text   string `json:"text,omitempty"`
	At     Time   `json:"at"`
}

// ResultDigest returns the SHA-256 of what a reviewer accepts: the canonical patch, the
// summary, and each required check with what it looked at and its verdict, in
// hexadecimal.
func ResultDigest(patch, summary string, checks []CheckRun) string {
	type verdict struct {
		Name, Command string
		Verdict       Verdict
	}
	list := []verdict{}
	for _, c := range checks {
		if c.Required {
			list = append(list, verdict{c.Name, c.Command, c.Verdict})
		}
	}
	b, err := json.Marshal(struct {
		Patch, Summary string
		Checks         []verdict
	}{patch, summary, list})
	if err != nil {
		panic(fmt.Sprintf("a digest of plain data: %v", err)) // never
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ReviewComment is what a person says about a place in a result. As a draft
// nobody but its author sees it.
type ReviewComment struct {
	ID          ID            `json:"id"`
	TaskID      ID            `json:"taskId"`
	ResultID    ID            `json:"resultId" doc:"id of the result on which it was written"`
	Author      string        `json:"author"`
	Path        string        `json:"path,omitempty" doc:"empty: the whole result"`
	Side        string        `json:"side,omitempty" enum:"old,new"`
	Line        int           `json:"line,omitempty" doc:"first line; 0: the whole file"`
	EndLine     int           `json:"endLine,omitempty" doc:"last line"`
	Excerpt     string        `json:"excerpt,omitempty" doc:"the lines at that time"`
	Text        string        `json:"text"`
	State       CommentState  `json:"state" enum:"draft,open,fixed,declined,resolved"`
	Outdated    bool          `json:"outdated,omitempty" doc:"true: its lines are not in the current result"`
	Replies     []ReviewReply `json:"replies,omitempty"`
	MoreReplies int           `json:"moreReplies,omitzero" doc:"how many earlier replies are left out here; review-comments has all"`
	CreatedAt   Time          `json:"createdAt"`
	SubmittedAt Time          `json:"submittedAt,omitzero"`
}

// ReviewReply is an answer to a comment.
type ReviewReply struct {
	Author string       `json:"author"`
	State  CommentState `json:"state,omitempty" enum:"fixed,declined,resolved,open"`
	Text   string       `json:"text,omitempty"`
	At     Time         `json:"at"`
}

// CommentState is the state of a comment.
type CommentState string

// The states of a comment.
const (
	CommentDraft    CommentState = "draft"    // seen only by its author
	CommentOpen     CommentState = "open"     // the owner has to answer it
	CommentFixed    CommentState = "fixed"    // the owner says so
	CommentDeclined CommentState = "declined" // with a reason
	CommentResolved CommentState = "resolved" // a person is content
)

// MergeState is where a merge is in its queue.
type MergeState string

// The states of a merge.
const (
	MergeQueued  MergeState = "queued"
	MergeRunning MergeState = "running"
	MergeWaiting MergeState = "waiting" // something of the repository is in the way; it is tried again
	MergeDone    MergeState = "merged"
	MergeFailed  MergeState = "failed"   // its task went back to its owner
	MergeStopped MergeState = "canceled" // its task was canceled, or its result voided
)

// MergeEntry is one accepted result on its way into a branch.
type MergeEntry struct {
	ID         ID         `json:"id"`
	TaskID     ID         `json:"taskId"`
	TaskTitle  string     `json:"taskTitle,omitempty"`
	ResultID   ID         `json:"resultId"`
	Number     int        `json:"number" doc:"number of the result"`
	Project    string     `json:"project"`
	Repository string     `json:"repository"`
	Into       string     `json:"into"`
	State      MergeState `json:"state" enum:"queued,running,waiting,merged,failed,canceled"`
	Code       string     `json:"code,omitempty" enum:"merge_conflict,merge_checks_failed,merge_changed"`
	Reason     string     `json:"reason,omitempty"`
	Before     string     `json:"before,omitempty" doc:"head of the target branch"`
	After      string     `json:"after,omitempty" doc:"commit that becomes the new head"`
	CreatedAt  Time       `json:"createdAt"`
	StartedAt  Time       `json:"startedAt,omitzero"`
	EndedAt    Time       `json:"endedAt,omitzero"`
}

// MergeOrder is what is to be applied to a target.
type MergeOrder struct {
	ID         ID // of the entry: names the temporary folder
	TaskID     ID
	Repository string
	Into       string
	Base, Head string // of the accepted result
	Branch     string
	Patch      string // that must come out: SHA-256 as in Revision
	Method     MergeMethod
	Message    string // of the commit, where one is made
	Author     string // agent or person who made the change
	Setup      []string
	Checks     []Check
	Push       string   // remote to which the target is pushed afterwards, "" for none
	ParentTree Worktree // of the task above, into whose branch it goes; zero for none
}

// Merged is what applying an order gave.
type Merged struct {
	Before string     // head of the target that it is based on
	After  string     // commit that the target may be moved to; "" where Code says why not
	Code   string     // merge_conflict, merge_checks_failed or merge_changed
	Reason string     // for the owner: files in conflict, name of the check and the end of its log
	Checks []CheckRun // on the merged tree, with logs
}

// TaskReview is what an agent that works on a task must know about its last result.
type TaskReview struct {
	ID           ID              `json:"-"`
	Result       int             `json:"result,omitzero" doc:"number of the last result; absent if there is none"`
	State        ResultState     `json:"state,omitempty" enum:"review,accepted,changes_requested,superseded,merged,done,canceled"`
	Flags        []string        `json:"flags,omitempty"`
	FailedChecks []CheckRun      `json:"failedChecks,omitempty" doc:"checks that refused the last completion or merge, with the end of their logs"`
	Comments     []ReviewComment `json:"comments,omitempty" doc:"open comments with path, lines and excerpt: answer each with reply_review"`
	MoreComments int             `json:"moreComments,omitzero" doc:"how many more comments are open: read the task again after answering these"`
	Merge        string          `json:"merge,omitempty" doc:"why its last merge failed"`
	Overlaps     []Overlap       `json:"alsoChangedBy,omitempty" doc:"other open results of the project that change the same files, at most 10"`
}

// Bounds of a TaskReview.
const (
	MaxReviewShown = 30       // comments
	reviewText     = 2000     // bytes of a text or an excerpt
	reviewLog      = 4000     // bytes of the end of a log
	reviewBytes    = 24 << 10 // bytes of all comments
	replyBytes     = 8000     // bytes of the replies to one of them
)

// Bound cuts the fields of r to their bounds.
func (r *TaskReview) Bound() {
	for i := range r.FailedChecks {
		c := &r.FailedChecks[i]
		c.Log = Tail(c.Log, reviewLog)
	}
	n := 0
	for i := range r.Comments {
		c := &r.Comments[i]
		c.Text, c.Excerpt = ClipText(c.Text, reviewText), ClipText(c.Excerpt, reviewText)
		n += len(c.Text) + len(c.Excerpt)
		n += c.boundReplies()
		if i == MaxReviewShown || n > reviewBytes {
			r.MoreComments += len(r.Comments) - i
			r.Comments = r.Comments[:i]
			return
		}
	}
}

// boundReplies keeps the newest replies that fit, so that none of the comments after
// them is left out because of a long discussion, and returns their bytes.
func (c *ReviewComment) boundReplies() (bytes int) {
	for i := len(c.Replies) - 1; i >= 0; i-- {
		r := &c.Replies[i]
		r.Text = ClipText(r.Text, reviewText)
		n := len(r.Text) + 100 // author, state and time
		if bytes+n > replyBytes {
			c.Replies, c.MoreReplies = c.Replies[i+1:], i+1
			break
		}
		bytes += n
	}
	return bytes
}

// Tail returns the last whole lines of a text, at most limit bytes.
func Tail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return strings.ToValidUTF8(s, "")
}
