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

type resultsOut struct {
	Body struct {
		Results []*task.Result `json:"results" doc:"newest first, at most 100"`
	}
}

type resultOut struct {
	Body *task.Result
}

func (s *Server) apiResults(ctx context.Context, in *TaskPath) (*resultsOut, error) {
	list, err := s.svc.Results(ctx, actorIn(ctx), in.ID.ID)
	out := &resultsOut{}
	out.Body.Results = list
	return out, err
}

func (s *Server) apiResult(ctx context.Context, in *ResultPath) (*resultOut, error) {
	r, err := s.svc.Result(ctx, actorIn(ctx), in.ID.ID, in.Number)
	return &resultOut{r}, err
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

type resultDiffOut struct {
	Body struct {
		Files []resultFile `json:"files" doc:"by path, at most 1000"`
		Total int          `json:"total" doc:"number of all changed files"`
	}
}

func (s *Server) apiResultDiff(ctx context.Context, in *resultDiffIn) (*resultDiffOut, error) {
	out := &resultDiffOut{}
	if in.Path != "" {
		f, err := s.svc.ResultDiff(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Since, in.Path, in.Lines)
		if err != nil {
			return nil, err
		}
		out.Body.Files, out.Body.Total = []resultFile{{*f, f.Diff}}, 1
		return out, nil
	}
	list, total, err := s.svc.ResultFiles(ctx, actorIn(ctx), in.ID.ID, in.Number, in.Since)
	out.Body.Files, out.Body.Total = make([]resultFile, len(list)), total
	for i, f := range list {
		out.Body.Files[i].FileChange = f
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

type checkRunsOut struct {
	Body struct {
		InForce []task.InForce  `json:"inForce" doc:"what the server checks before the task is done"`
		Policy  task.Accept     `json:"policy" doc:"who must accept its result"`
		Checks  []task.CheckRun `json:"checks" doc:"newest first, at most 100, without logs"`
	}
}

func (s *Server) apiCheckRuns(ctx context.Context, in *TaskPath) (*checkRunsOut, error) {
	out := &checkRunsOut{}
	var err error
	if out.Body.Checks, err = s.svc.CheckRuns(ctx, actorIn(ctx), in.ID.ID); err != nil {
		return nil, err
	}
	out.Body.InForce, out.Body.Policy, err = s.svc.ChecksInForce(ctx, actorIn(ctx), in.ID.ID)
	return out, err
}

type runCheckIn struct {
	TaskPath
	Name string `path:"name" doc:"name of a check that applies to the task"`
	optional[emptyBody]
}

func (s *Server) apiRunCheck(ctx context.Context, in *runCheckIn) (*checkRunOut, error) {
	s.extendDeadlines(ctx, task.MaxWait)
	c, err := s.svc.RunCheck(ctx, actorIn(ctx), in.ID.ID, in.Name)
	return &checkRunOut{c}, err
}

// CheckRunPath is an execution of a check in the path.
type CheckRunPath struct {
	TaskPath
	Check pathID `path:"check"`
}

type checkRunOut struct {
	Body task.CheckRun
}

func (s *Server) apiCheckRun(ctx context.Context, in *CheckRunPath) (*checkRunOut, error) {
	c, err := s.svc.CheckRun(ctx, actorIn(ctx), in.ID.ID, in.Check.ID)
	return &checkRunOut{c}, err
}

type reviewCommentsOut struct {
	Body struct {
		Comments []task.ReviewComment `json:"comments" doc:"oldest first: all comments that were sent, and your own drafts"`
	}
}

func (s *Server) apiReviewComments(ctx context.Context, in *TaskPath) (*reviewCommentsOut, error) {
	list, err := s.svc.ReviewComments(ctx, actorIn(ctx), in.ID.ID)
	out := &reviewCommentsOut{}
	out.Body.Comments = list
	return out, err
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

type reviewCommentOut struct {
	Body task.ReviewComment
}

func (s *Server) apiDraftComment(ctx context.Context, in *draftIn) (*reviewCommentOut, error) {
	b := in.Body
	c, err := s.svc.DraftComment(ctx, actorIn(ctx), in.ID.ID, 0,
		task.ReviewComment{Path: b.Path, Side: b.Side, Line: b.Line, EndLine: b.EndLine, Excerpt: b.Excerpt, Text: b.Text})
	return &reviewCommentOut{c}, err
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

type submittedOut struct {
	Body struct {
		Submitted int `json:"submitted"`
	}
}

func (s *Server) apiSubmitComments(ctx context.Context, in *bareIn) (*submittedOut, error) {
	n, err := s.svc.SubmitComments(ctx, actorIn(ctx), in.ID.ID)
	out := &submittedOut{}
	out.Body.Submitted = n
	return out, err
}

type replyReviewIn struct {
	ReviewCommentPath
	Body struct {
		State task.CommentState `json:"state,omitempty" enum:"fixed,declined,resolved,open" doc:"agents: fixed, or declined with a reason"`
		Text  string            `json:"text,omitempty" doc:"at most 64 KiB"`
	}
}

func (s *Server) apiReplyReview(ctx context.Context, in *replyReviewIn) (*reviewCommentOut, error) {
	c, err := s.svc.ReplyReview(ctx, actorIn(ctx), in.ID.ID, in.Comment.ID, in.Body.State, in.Body.Text)
	return &reviewCommentOut{c}, err
}
