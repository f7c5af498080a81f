package client

import (
	"strconv"
	"strings"

	"taskyard/task"
)

// ReviewComment drafts a comment.
type ReviewComment struct {
	OneTask
	Text string `arg:"" optional:"" help:"The comment; - reads it from stdin."`
	Path string `help:"File of the result that it is about (default: the whole result)." placeholder:"PATH"`
	Line string `help:"Line or lines of the file, such as 12 or 12-15." placeholder:"N"`
	Old  bool   `help:"The lines are those before the change."`
	TextFile
	Quiet
}

// Run drafts the comment, with the lines that it refers to.
func (c *ReviewComment) Run(e *Env) error {
	id, text, err := e.taskAndText(c.ID, c.Text, c.TextFile)
	if err != nil {
		return err
	}
	body := payload{"text": text}.text("path", c.Path)
	if c.Line != "" {
		if err := c.lines(e, id, body); err != nil {
			return err
		}
	}
	return printCall(e, "POST", "/api/tasks/"+id+"/review-comments", body, func(out *task.ReviewComment) {
		if c.Quiet.Quiet {
			e.say("%s", out.ID)
			return
		}
		e.say("drafted comment %s on #%s; it is sent with your decision, or with: taskyard review submit %s", out.ID, id, id)
	})
}

// lines adds the position and its lines.
func (c *ReviewComment) lines(e *Env, id string, body payload) error {
	from, to, ranged := strings.Cut(c.Line, "-")
	first, err := strconv.Atoi(from)
	last := first
	if err == nil && ranged {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first || last-first > 10_000 {
		return usagef("--line must be a line such as 12, or a range such as 12-15, not %q", c.Line)
	}
	if c.Path == "" {
		return usagef("--line needs --path: which file it is in")
	}
	side := "new"
	if c.Old {
		side = "old"
	}
	one := ReviewDiff{OneResult: OneResult{OneTask: OneTask{id}}, Path: c.Path, Context: 1000}
	_, path, _, _, err := one.find(e)
	if err != nil {
		return err
	}
	got, err := one.files(e, path+"/diff")
	if err != nil {
		return err
	}
	lines := ""
	if len(got.Files) == 1 {
		lines = excerpt(got.Files[0].Hunks, side, first, last)
	}
	if lines == "" && (len(got.Files) != 1 || got.Files[0].Hunks != "") {
		return usagef("the diff of %s has no line %s on its %s side: see taskyard review diff %s --path %s", printable(c.Path), c.Line, side,
			id, printable(c.Path))
	}
	body["line"], body["endLine"], body["side"] = first, last, side
	body.text("excerpt", lines)
	return nil
}

// ReviewSubmit sends drafts.
type ReviewSubmit struct{ OneTask }

// Run sends them.
func (c *ReviewSubmit) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	return printCall(e, "POST", "/api/tasks/"+id+"/review-comments/submit", nil, func(out *struct{ Submitted int }) {
		e.say("sent %s on #%s", counted(out.Submitted, "comment(s)"), id)
	})
}

// ReviewAccept accepts a result.
type ReviewAccept struct {
	OneResult
	Digest  string `help:"Fail if the result no longer has this digest, which review show prints." placeholder:"DIGEST"`
	Comment string `help:"Text of your vote; - reads it from stdin." placeholder:"TEXT"`
}

// Run accepts the result with the given digest, or the one that it shows.
func (c *ReviewAccept) Run(e *Env) error {
	text, err := e.text(c.Comment, "")
	if err != nil {
		return err
	}
	return c.vote(e, "accept", c.Digest, text)
}

// vote votes on a result and prints which.
func (c *OneResult) vote(e *Env, act, digest, text string) error {
	_, path, _, r, err := c.find(e)
	if err != nil {
		return err
	}
	if digest == "" {
		digest = r.Digest
		if !e.JSON {
			e.resultLines(r)
			e.say("")
		}
	}
	return printCall(e, "POST", path+"/"+act, payload{"digest": digest}.text("text", text), func(t *task.Task) {
		did := "accepted"
		if act != "accept" {
			did = "requested changes on"
		}
		e.say("%s result %d of %s (digest %s); task %s", did, r.Number, hash(t.ID), digest, describeState(t, nil))
	})
}

// ReviewRequest sends a result back.
type ReviewRequest struct {
	OneResult
	Text   string `arg:"" optional:"" help:"What is to be changed, besides your drafts; - reads it from stdin."`
	Digest string `help:"Fail if the result no longer has this digest, which review show prints." placeholder:"DIGEST"`
	TextFile
}

// Run requests changes.
func (c *ReviewRequest) Run(e *Env) error {
	text, err := e.text(c.Text, c.File)
	if err != nil {
		return err
	}
	return c.vote(e, "request-changes", c.Digest, text)
}

// ReviewReply replies to a comment.
type ReviewReply struct {
	ID      string `arg:"" name:"id" help:"ID of the task." complete:"task"`
	Comment string `arg:"" help:"Number of the comment, as review show prints it."`
	Text    string `arg:"" optional:"" help:"The answer; - reads it from stdin."`
	State   string `help:"fixed, or declined with a reason; people also resolved and open." complete:"fixed,declined,resolved,open"`
	TextFile
}

// Run replies to the comment.
func (c *ReviewReply) Run(e *Env) error {
	id, err := e.id(c.ID)
	if err != nil {
		return err
	}
	comment, err := parseID(c.Comment)
	if err != nil {
		return err
	}
	text, err := e.text(c.Text, c.File)
	if err != nil {
		return err
	}
	body := payload{}.text("state", c.State).text("text", text)
	return printCall(e, "POST", "/api/tasks/"+id+"/review-comments/"+comment+"/reply", body, func(out *task.ReviewComment) {
		e.say("comment %s of #%s is %s", out.ID, id, out.State)
	})
}
