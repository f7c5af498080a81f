package cmd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"taskyard/internal/config"
)

// newLogger returns a logger to stderr.
func newLogger(e *Env, c config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	e.level.Set(level)
	opt := &slog.HandlerOptions{Level: &e.level}
	if c.Format == "text" || c.Format != "json" && columns(e.Stderr) > 0 {
		return slog.New(newRepeatsHandler(newTextHandler(e.Stderr, opt)))
	}
	return slog.New(newRepeatsHandler(slog.NewJSONHandler(e.Stderr, opt)))
}

// textHandler writes lines for people: the time of day, the level, the message,
// then the attributes as key=value.
type textHandler struct {
	mu    *sync.Mutex
	out   io.Writer
	line  *bytes.Buffer
	attrs slog.Handler // writes only attributes, to line
}

func newTextHandler(out io.Writer, opt *slog.HandlerOptions) *textHandler {
	line := &bytes.Buffer{}
	own := *opt
	own.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}
	return &textHandler{mu: &sync.Mutex{}, out: out, line: line, attrs: slog.NewTextHandler(line, &own)}
}

// Enabled reports whether a level is logged.
func (h *textHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.attrs.Enabled(ctx, l) }

// Handle writes one line.
func (h *textHandler) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	h.line.WriteString(r.Time.Format("15:04:05") + " " + r.Level.String() + strings.Repeat(" ", max(0, 5-len(r.Level.String()))) + " ")
	message := r.Message
	if strings.ContainsFunc(message, func(c rune) bool { return !unicode.IsPrint(c) }) {
		message = strconv.Quote(message)
	}
	h.line.WriteString(message + " ")
	if err := h.attrs.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.Write(append(bytes.TrimRight(h.line.Bytes(), " \n"), '\n'))
	return err
}

// WithAttrs returns a handler with further attributes.
func (h *textHandler) WithAttrs(list []slog.Attr) slog.Handler {
	other := *h
	other.attrs = h.attrs.WithAttrs(list)
	return &other
}

// WithGroup returns a handler whose further attributes are in a group.
func (h *textHandler) WithGroup(name string) slog.Handler {
	other := *h
	other.attrs = h.attrs.WithGroup(name)
	return &other
}
