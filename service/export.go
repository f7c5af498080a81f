package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"taskyard/db"
	"taskyard/task"
)

// ExportTo is where an export goes.
type ExportTo struct {
	Tasks   io.Writer // {"tasks": […], "nextId": N}: drafts and active tasks by id
	History io.Writer // one archived task a line, the first archived first
	Todos   io.Writer // {"agent": ["item", …]}

	Projects io.Writer // {"projects": […]} by key
}

// Exported counts what an export wrote.
type Exported struct {
	Open, Archived, Comments, Lists, Items, Projects int
	NextID                                           task.ID
}

// Export writes every task with its thread, and every todo list, as they are
// at one moment. Memory does not grow with the instance. Errors: forbidden, and
// those of the writers.
func (s *Service) Export(ctx context.Context, a task.Actor, to ExportTo) (out Exported, err error) {
	if err := checkPerm(a, task.Admin); err != nil {
		return out, err
	}
	err = s.db.Snapshot(ctx, func(rx *db.Rx) error {
		x := &export{ctx: ctx, rx: rx}
		if err := x.tasks(to.Tasks); err != nil {
			return err
		}
		if err := rx.ExportHistory(func(e db.Exported) error {
			x.n.Archived++
			return x.task(to.History, e)
		}); err != nil {
			return err
		}
		if err := x.todos(to.Todos); err != nil {
			return err
		}
		if err := x.projects(to.Projects); err != nil {
			return err
		}
		out = x.n
		return nil
	})
	return out, err
}

type export struct {
	ctx context.Context
	rx  *db.Rx
	n   Exported
	buf bytes.Buffer
}

// exportedTask is the JSON form of a task with what an import needs besides.
type exportedTask struct {
	*task.Task
	Consent string `json:"consent,omitempty"` // "withheld": an agent started, handed over or changed it, and no person has consented
}

func (x *export) tasks(w io.Writer) error {
	last, err := x.rx.LastTaskID()
	if err != nil {
		return err
	}
	x.n.NextID = last + 1
	if err := writeString(w, "{\"tasks\":[\n"); err != nil {
		return err
	}
	err = x.rx.ExportOpen(func(e db.Exported) error {
		if x.n.Open > 0 {
			if err := writeString(w, ","); err != nil {
				return err
			}
		}
		x.n.Open++
		return x.task(w, e)
	})
	if err != nil {
		return err
	}
	return writeString(w, fmt.Sprintf("],\"nextId\":%d}\n", x.n.NextID))
}

// task writes one task and a line's end. A long thread is not held in memory.
func (x *export) task(w io.Writer, e db.Exported) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	k := exportedTask{Task: e.Task}
	if e.Withheld {
		k.Consent = "withheld"
	}
	if err := x.encode(k); err != nil {
		return err
	}
	if e.CommentCount == 0 {
		return x.flush(w, "\n")
	}
	// The object is opened again at its end, for its thread.
	x.buf.Truncate(x.buf.Len() - 1)
	if err := x.flush(w, `,"comments":[`); err != nil {
		return err
	}
	if err := x.thread(w, e.ID); err != nil {
		return err
	}
	return writeString(w, "]}\n")
}

// encode puts one value without a line's end into the buffer.
func (x *export) encode(v any) error {
	x.buf.Reset()
	enc := json.NewEncoder(&x.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	x.buf.Truncate(x.buf.Len() - 1)
	return nil
}

func (x *export) flush(w io.Writer, end string) error {
	x.buf.WriteString(end)
	_, err := w.Write(x.buf.Bytes())
	return err
}

func (x *export) thread(w io.Writer, id task.ID) error {
	const page = 100
	first := true
	for after := task.ID(0); ; {
		list, err := x.rx.Comments(id, after, page)
		if err != nil {
			return err
		}
		for _, m := range list {
			if !first {
				if err := writeString(w, ","); err != nil {
					return err
				}
			}
			first, after = false, m.ID
			x.n.Comments++
			if err := x.encode(task.Comment{ID: m.ID, Author: m.Author, Kind: m.Kind, Content: m.Content, CreatedAt: m.CreatedAt}); err != nil {
				return err
			}
			if err := x.flush(w, ""); err != nil {
				return err
			}
		}
		if len(list) < page {
			return nil
		}
	}
}

func (x *export) todos(w io.Writer) error {
	at := ""
	if err := writeString(w, "{"); err != nil {
		return err
	}
	err := x.rx.ExportTodos(func(agent, item string) error {
		sep := ","
		if agent != at {
			if err := x.encode(agent); err != nil {
				return err
			}
			sep = "\n" + x.buf.String() + ":["
			if at != "" {
				sep = "]," + sep
			}
			at = agent
			x.n.Lists++
		}
		x.n.Items++
		if err := x.encode(item); err != nil {
			return err
		}
		return writeString(w, sep+x.buf.String())
	})
	if err != nil {
		return err
	}
	if at != "" {
		return writeString(w, "]}\n")
	}
	return writeString(w, "}\n")
}

// exportedProject is a project without what an import sets itself.
type exportedProject struct {
	*task.Project
	Version   int64     `json:"version,omitempty"`
	CreatedAt task.Time `json:"createdAt,omitzero"`
	UpdatedAt task.Time `json:"updatedAt,omitzero"`
}

func (x *export) projects(w io.Writer) error {
	list, err := x.rx.Projects()
	if err != nil {
		return err
	}
	if err := writeString(w, "{\"projects\":[\n"); err != nil {
		return err
	}
	for i, p := range list {
		if i > 0 {
			if err := writeString(w, ","); err != nil {
				return err
			}
		}
		x.n.Projects++
		if err := x.encode(exportedProject{Project: p}); err != nil {
			return err
		}
		if err := x.flush(w, "\n"); err != nil {
			return err
		}
	}
	return writeString(w, "]}\n")
}

func writeString(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}
