package client

import (
	"encoding/json"
	"strconv"
	"strings"

	"taskyard/task"
)

// ReviewDiff prints the changes of a result.
type ReviewDiff struct {
	OneResult
	Since   int    `help:"Number of an earlier result: what changed since then." placeholder:"N"`
	Path    string `help:"Only this file." placeholder:"PATH"`
	Context int    `help:"Lines of context (0 to 1000; default 3)." default:"3" placeholder:"N"`
}

// resultFiles are files of a result, with their lines if requested.
type resultFiles struct {
	Files []resultFile `json:"files"`
	Total int          `json:"total"`
}

type resultFile struct {
	task.FileChange
	Hunks string `json:"hunks,omitempty"`
}

// Run prints a patch. If a result has too many lines for one answer, it
// requests each file separately.
func (c *ReviewDiff) Run(e *Env) error {
	_, path, _, r, err := c.find(e)
	if err != nil {
		return err
	}
	all := resultFiles{Files: []resultFile{}}
	if r.Head != "" {
		if all, err = c.files(e, path+"/diff"); err != nil {
			return err
		}
	}
	if e.JSON {
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return e.answer(raw, nil)
	}
	w := task.Work{Total: all.Total}
	for _, f := range all.Files {
		f.Diff = f.Hunks
		w.Files = append(w.Files, f.FileChange)
	}
	patch := w.Patch()
	if e.Width > 0 {
		patch = printableLines(patch)
	}
	_, err = e.Stdout.Write([]byte(patch))
	return err
}

func (c *ReviewDiff) files(e *Env, path string) (all resultFiles, err error) {
	q := func(file string) string {
		p := params{}.num("since", c.Since).set("path", file)
		if file != "" {
			p.set("lines", strconv.Itoa(c.Context))
		}
		return p.appendTo(path)
	}
	if _, err := e.call("GET", q(c.Path), nil, &all); err != nil || c.Path != "" {
		return all, err
	}
	for i, f := range all.Files {
		var one resultFiles
		if _, err := e.call("GET", q(f.Path), nil, &one); err != nil {
			return all, err
		}
		if len(one.Files) == 1 {
			all.Files[i] = one.Files[0]
		}
	}
	return all, nil
}

// excerpt returns lines of one side of hunks, "" unless all of them are
// included.
func excerpt(hunks, side string, first, last int) string {
	text := task.HunkExcerpt(hunks, side, first, last)
	if strings.Count(text, "\n") != last-first+1 {
		return ""
	}
	return strings.TrimSuffix(text, "\n")
}
