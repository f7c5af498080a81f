package handlers

import (
	"context"

	"taskyard/task"
)

// ResultPath is a result of a task in the path.
type ResultPath struct {
	TaskPath
	Number int `path:"number" minimum:"1" doc:"number of the result; the first one of a task is 1"`
}

type resultsOutBody struct {
	Results []*task.Result `json:"results" doc:"newest first, at most 100"`
}

func (s *Server) apiResults(ctx context.Context, in *TaskPath) (resultsOutBody, error) {
	list, err := s.svc.Results(ctx, actorIn(ctx), in.ID.ID)
	return resultsOutBody{list}, err
}

func (s *Server) apiResult(ctx context.Context, in *ResultPath) (*task.Result, error) {
	return s.svc.Result(ctx, actorIn(ctx), in.ID.ID, in.Number)
}

type resultDiffIn struct {
	ResultPath
	Since int    `query:"since" minimum:"1" doc:"number of an earlier result, to see what changed since then"`
	Path  string `query:"path" doc:"path of one file, to get its lines; absent: list the files"`
	Lines int    `query:"lines" minimum:"0" maximum:"1000" default:"3" doc:"lines of context"`
}

// resultFile is a file of a result, with its lines if the request names one
// file.
type resultFile struct {
	task.FileChange
	Hunks string `json:"hunks,omitempty" doc:"hunks of a unified diff, at most 64 KiB"`
}

type resultDiffOutBody struct {
	Files []resultFile `json:"files" doc:"by path, at most 1000"`
	Total int          `json:"total" doc:"number of all changed files"`
}

func (s *Server) apiResultDiff(ctx context.Context, in *resultDiffIn) (out resultDiffOutBody, err error) {
	if in.Path != "" {
		f, err := s.svc.ResultDiff(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Since, in.Path, in.Lines)
		if err != nil {
			return out, err
		}
		return resultDiffOutBody{[]resultFile{{*f, f.Diff}}, 1}, nil
	}
	list, total, err := s.svc.ResultFiles(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Since)
	out.Files, out.Total = make([]resultFile, len(list)), total
	for i, f := range list {
		out.Files[i].FileChange = f
	}
	return out, err
}

type voteIn struct {
	ResultPath
	Body struct {
		Digest string `json:"digest" doc:"digest of the result that you saw"`
		Text   string `json:"text,omitempty" doc:"at most 64 KiB"`
	}
}

func (s *Server) apiAcceptResult(ctx context.Context, in *voteIn) (*taskOut, error) {
	return taskAnswer(s.svc.AcceptResult(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Body.Digest, in.Body.Text))
}

func (s *Server) apiRequestChanges(ctx context.Context, in *voteIn) (*taskOut, error) {
	return taskAnswer(s.svc.RequestChanges(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Body.Digest, in.Body.Text))
}

type checkRunsOutBody struct {
	InForce []task.InForce  `json:"inForce" doc:"what the server checks before the task is done"`
	Policy  task.Accept     `json:"policy" doc:"who must accept its result"`
	Checks  []task.CheckRun `json:"checks" doc:"newest first, at most 100, without logs"`
}

func (s *Server) apiCheckRuns(ctx context.Context, in *TaskPath) (out checkRunsOutBody, err error) {
	if out.Checks, err = s.svc.CheckRuns(ctx, actorIn(ctx), in.ID.ID); err != nil {
		return out, err
	}
	out.InForce, out.Policy, err = s.svc.ChecksInForce(ctx, actorIn(ctx), in.ID.ID)
	return out, err
}

type runCheckIn struct {
	TaskPath
	Name string `path:"name" doc:"name of a check that applies to the task"`
	optional[emptyBody]
}

func (s *Server) apiRunCheck(ctx context.Context, in *runCheckIn) (task.CheckRun, error) {
	s.extendDeadlines(ctx, task.MaxWait)
	return s.svc.RunCheck(ctx, actorIn(ctx), in.ID.ID, in.Name)
}

// CheckRunPath is an execution of a check in the path.
type CheckRunPath struct {
	TaskPath
	Check pathID `path:"check"`
}

func (s *Server) apiCheckRun(ctx context.Context, in *CheckRunPath) (task.CheckRun, error) {
	return s.svc.CheckRun(ctx, actorIn(ctx), in.ID.ID, in.Check.ID)
}

type reviewCommentsOutBody struct {
	Comments []task.ReviewComment `json:"comments" doc:"oldest first: all comments that were sent, and your own drafts"`
}

func (s *Server) apiReviewComments(ctx context.Context, in *TaskPath) (reviewCommentsOutBody, error) {
	list, err := s.svc.ReviewComments(ctx, actorIn(ctx), in.ID.ID)
	return reviewCommentsOutBody{list}, err
}

type draftIn struct {
	TaskPath
	Body struct {
		Path    string `json:"path,omitempty" doc:"empty: the whole result"`
		Side    string `json:"side,omitempty" enum:"old,new" doc:"default new"`
		Line    int    `json:"line,omitempty" minimum:"0" doc:"first line; 0: the whole file"`
		EndLine int    `json:"endLine,omitempty" minimum:"0" doc:"last line; default: the first line"`
		Excerpt string `json:"excerpt,omitempty" doc:"the lines as you saw them, at most 64 KiB"`
		Text    string `json:"text" doc:"1 byte to 64 KiB"`
	}
}

func (s *Server) apiDraftComment(ctx context.Context, in *draftIn) (task.ReviewComment, error) {
	b := in.Body
	return s.svc.DraftComment(ctx, actorIn(ctx), in.ID.ID, 0,
		task.ReviewComment{Path: b.Path, Side: b.Side, Line: b.Line, EndLine: b.EndLine, Excerpt: b.Excerpt, Text: b.Text})
}

// ReviewCommentPath is a comment on a result in the path.
type ReviewCommentPath struct {
	TaskPath
	Comment pathID `path:"comment"`
}

type editDraftIn struct {
	ReviewCommentPath
	Body struct {
		Text string `json:"text" doc:"empty: delete the draft"`
	}
}

type emptyOut struct{}

func (s *Server) apiEditDraft(ctx context.Context, in *editDraftIn) (*emptyOut, error) {
	return &emptyOut{}, s.svc.EditDraft(ctx, actorIn(ctx), in.ID.ID, in.Comment.ID, in.Body.Text)
}

type submittedOutBody struct {
	Submitted int `json:"submitted"`
}

func (s *Server) apiSubmitComments(ctx context.Context, in *bareIn) (submittedOutBody, error) {
	n, err := s.svc.SubmitComments(ctx, actorIn(ctx), in.ID.ID)
	return submittedOutBody{n}, err
}

type replyReviewIn struct {
	ReviewCommentPath
	Body struct {
		State task.CommentState `json:"state,omitempty" enum:"fixed,declined,resolved,open" doc:"agents: fixed, or declined with a reason"`
		Text  string            `json:"text,omitempty" doc:"at most 64 KiB"`
	}
}

func (s *Server) apiReplyReview(ctx context.Context, in *replyReviewIn) (task.ReviewComment, error) {
	return s.svc.ReplyReview(ctx, actorIn(ctx), in.ID.ID, in.Comment.ID, in.Body.State, in.Body.Text)
}
