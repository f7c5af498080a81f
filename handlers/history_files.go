package handlers

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"taskyard/task"
)

// fileTimeout bounds how long a reader may take for one part of a file, about
// 200 tasks.
const fileTimeout = 30 * time.Second

// tasksWriter writes a file of tasks, part by part.
type tasksWriter interface {
	begin() error
	write([]*task.Task) error
	end() error
}

func (s *Server) historyCSV(c echo.Context) error {
	return s.historyFile(c, "csv", "text/csv; charset=utf-8", &csvTasks{csv.NewWriter(c.Response())})
}

func (s *Server) historyJSON(c echo.Context) error {
	return s.historyFile(c, "json", "application/json", &jsonTasks{w: c.Response(), enc: json.NewEncoder(c.Response())})
}

// historyFile sends all tasks of a filter while they are read, so that it needs
// the same memory for any number. An error before the first part is answered
// normally; a later one closes the connection, so that a partial file is never
// mistaken for a complete one.
func (s *Server) historyFile(c echo.Context, ext, media string, w tasksWriter) error {
	_, f, err := s.historyQuery(c)
	if err != nil {
		return err
	}
	rc := http.NewResponseController(c.Response())
	begun := false
	begin := func() error {
		begun = true
		h := c.Response().Header()
		h.Set("Content-Type", media)
		h.Set("Content-Disposition", `attachment; filename="history.`+ext+`"`)
		h.Set("Cache-Control", "no-store")
		c.Response().WriteHeader(http.StatusOK)
		return w.begin()
	}
	err = s.svc.EachHistory(c.Request().Context(), actorFrom(c), f, func(list []*task.Task) error {
		_ = rc.SetWriteDeadline(time.Now().Add(fileTimeout)) // not every connection has one
		if !s.isStillSignedIn(c) {
			return errSignIn
		}
		if !begun {
			if err := begin(); err != nil {
				return err
			}
		}
		return w.write(list)
	})
	if err == nil {
		err = w.end()
	}
	if err != nil && begun {
		s.log.Warn("export of the history was interrupted", "file", ext, "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

type csvTasks struct{ *csv.Writer }

func (w *csvTasks) begin() error {
	return w.Write([]string{
		"id", "title", "status", "owner", "created_by", "labels",
		"priority", "created_at", "archived_at", "parent_id", "summary",
	})
}

func (w *csvTasks) write(list []*task.Task) error {
	for _, t := range list {
		parent := ""
		if t.ParentTaskID != 0 {
			parent = t.ParentTaskID.String()
		}
		err := w.Write([]string{
			t.ID.String(), safeCell(t.Title), string(t.Status), safeCell(t.Owner), safeCell(t.CreatedBy), safeCell(strings.Join(t.Labels, " ")),
			strconv.Itoa(t.Priority), t.CreatedAt.String(), t.ArchivedAt.String(), parent, safeCell(t.Summary),
		})
		if err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func (w *csvTasks) end() error {
	w.Flush()
	return w.Error()
}

// safeCell returns a text that no spreadsheet interprets as a formula.
func safeCell(s string) string {
	if strings.IndexAny(s, "=+-@\t\r\n|%\uff1d\uff0b\uff0d\uff20") == 0 { // Excel in Japanese reads the wide ones like the others
		return "'" + s
	}
	return s
}

// jsonTasks is {"tasks":[…]}, one task per line.
type jsonTasks struct {
	w   io.Writer
	enc *json.Encoder
	any bool
}

func (w *jsonTasks) begin() error {
	_, err := io.WriteString(w.w, "{\"tasks\":[\n")
	return err
}

func (w *jsonTasks) write(list []*task.Task) error {
	for _, t := range list {
		if w.any {
			if _, err := io.WriteString(w.w, ","); err != nil {
				return err
			}
		}
		w.any = true
		if err := w.enc.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

func (w *jsonTasks) end() error {
	_, err := io.WriteString(w.w, "]}\n")
	return err
}
