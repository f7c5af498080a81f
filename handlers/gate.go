package handlers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"taskyard/task"
)

// Bounds of what requests may hold in memory at the same time. An answer is
// built whole before it is sent, and stays there while a slow reader takes it.
const (
	gateBytes   = 12 << 20        // of all callers
	callerShare = 6 << 20         // of one of them
	gateWait    = 8 * time.Second // until a place is free: longer than a reader may stall
	bodyFactor  = 4               // bytes that a request of one byte takes, with what is made of it
	// compressorBytes is what a compressor holds while a reader takes its answer.
	compressorBytes = 1 << 20
)

// gate shares the memory for large requests and answers among the callers. A
// request waits until enough of the whole is free. A caller whose own share is
// used up waits only for their own requests, so a slow reader of many answers
// blocks nobody else.
type gate struct {
	all     *semaphore.Weighted
	mu      sync.Mutex
	callers map[holder]*share
}

// share is what one caller holds.
type share struct {
	sem   *semaphore.Weighted
	users int // requests that hold or wait for some of it
}

func newGate() *gate {
	return &gate{all: semaphore.NewWeighted(gateBytes), callers: map[holder]*share{}}
}

// enter acquires bytes for a caller and returns the function that releases them.
// Errors: that of the context; CodeRateLimited when nothing became free.
func (g *gate) enter(ctx context.Context, who holder, bytes int64) (leave func(), err error) {
	bytes = min(bytes, callerShare)
	own := g.shareFor(who)
	if err := g.acquire(ctx, own, bytes); err != nil {
		g.leave(who, own)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errBusy()
	}
	return func() {
		g.all.Release(bytes)
		own.sem.Release(bytes)
		g.leave(who, own)
	}, nil
}

// acquire takes bytes of the caller's share and of the whole. Nearly always
// they are free: the timer of the wait is made only when they are not.
func (g *gate) acquire(ctx context.Context, own *share, bytes int64) error {
	if own.sem.TryAcquire(bytes) {
		if g.all.TryAcquire(bytes) {
			return nil
		}
		own.sem.Release(bytes)
	}
	wait, cancel := context.WithTimeout(ctx, gateWait)
	defer cancel()
	if err := own.sem.Acquire(wait, bytes); err != nil {
		return err
	}
	if err := g.all.Acquire(wait, bytes); err != nil {
		own.sem.Release(bytes)
		return err
	}
	return nil
}

func errBusy() error {
	e := task.Errorf(task.TooMany, task.CodeRateLimited,
		"Too many large requests and answers are under way. Read the answers that you asked for, then try again")
	e.Retry = 2
	return e
}

// shareFor returns the share of a caller, with one user more.
func (g *gate) shareFor(who holder) *share {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.callers[who]
	if own == nil {
		own = &share{sem: semaphore.NewWeighted(callerShare)}
		g.callers[who] = own
	}
	own.users++
	return own
}

// leave removes a user of a share, and with the last one the share.
func (g *gate) leave(who holder, own *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(g.callers, who)
	}
}

// holder is who a request counts for: a token, a person, or an address.
type holder struct {
	token, user task.ID
	address     string
}

func requestHolder(c echo.Context) holder {
	switch a := actorFrom(c); {
	case a.TokenID != 0:
		return holder{token: a.TokenID}
	case a.UserID != 0:
		return holder{user: a.UserID}
	}
	return holder{address: c.RealIP()}
}

// admit makes a request that may need much memory wait for its share: a read of
// lists or pages for that of an answer, a large body for its own. The share is
// released when the request has been answered, or waits for something else.
func (s *Server) admit(c echo.Context) (err error) {
	r := c.Request()
	bytes := int64(0)
	switch n := r.ContentLength; {
	case r.Method == http.MethodGet && !hasSmallAnswer(c):
		bytes = answerShare(r)
	case n > largeBody:
		bytes = n * bodyFactor
	case n < 0:
		bytes = maxBody * bodyFactor
	}
	if bytes == 0 {
		return nil
	}
	info := requestInfoFromContext(r.Context())
	if info.leave, err = s.gate.enter(r.Context(), requestHolder(c), bytes); err != nil || r.Method == http.MethodGet || !isAPI(r.URL.Path) {
		return err
	}
	c.SetRequest(r.WithContext(task.WithWaitHook(r.Context(), func() {
		if info.leave != nil { // a call that waits has read its body
			c.Request().Body = http.NoBody
			info.leave()
			info.leave = nil
		}
	})))
	return nil
}

// bufferBody reads a body whose length is unknown and reduces the request's share
// of the memory to what that body needs: the call may wait long for something
// else. It comes after the caller's permission is checked.
func (s *Server) bufferBody(c echo.Context) error {
	r := c.Request()
	info := requestInfoFromContext(r.Context())
	if r.ContentLength >= 0 || info.leave == nil || !isAPI(r.URL.Path) && !isMCP(r.URL.Path) {
		return nil
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	r.ContentLength = int64(len(body))
	info.leave()
	info.leave = nil
	return s.admit(c)
}

// answerShare is how many bytes the answer to a request may hold until it is read.
func answerShare(r *http.Request) int64 {
	if acceptsGzip(r) { // whoever takes zstd takes this too
		return answerBytes + compressorBytes
	}
	return answerBytes
}

// readBody reads a body whose length is bounded, and leaves it to be read again.
// It takes as much memory as that needs: growing step by step, a body of 1 MiB
// would make garbage of 5 MiB. Errors: CodeBodyTooLarge, that of a quota,
// CodeInvalidJSON when the body breaks off.
func readBody(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, maxBody)) + bytes.MinRead) // the end is found in what is left
	}
	_, err := b.ReadFrom(r.Body)
	switch _, tooLarge := errors.AsType[*http.MaxBytesError](err); {
	case tooLarge:
		return nil, errTooLarge
	case errorKind(err) != "": // a quota
		return nil, err
	case err != nil:
		return nil, unreadable
	}
	r.Body = io.NopCloser(bytes.NewReader(b.Bytes()))
	return b.Bytes(), nil
}

// largeBody is how many bytes a body may have without a share of the memory.
const largeBody = 32 << 10

// hasSmallAnswer reports whether an answer is small whatever the instance holds, or is
// a stream, which writes piece by piece.
func hasSmallAnswer(c echo.Context) bool {
	switch c.Path() {
	case "/healthz", "/readyz", "/metrics", profilePath, "/static/*", "/live", "/login", "/login/link",
		"/setup", mcpPath, "/api/me", "/api/delegate/:id": // the last may wait
		return true
	}
	return c.Path() == "" || strings.Contains(c.Request().Header.Get("Accept"), "text/event-stream")
}

// Pace of an answer: a reader who takes nothing for stallLimit is gone.
const (
	stallLimit = 5 * time.Second
	writePiece = 64 << 10
)

// pieceWriter sends an answer piece by piece, so that a reader who stops
// holds it for stallLimit and no longer.
type pieceWriter struct {
	http.ResponseWriter
	sent int
}

// Unwrap is for http.ResponseController.
func (w *pieceWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pieceWriter) Write(b []byte) (n int, err error) {
	if w.sent += len(b); w.sent <= writePiece {
		return w.ResponseWriter.Write(b)
	}
	rc := http.NewResponseController(w.ResponseWriter)
	for n < len(b) && err == nil {
		if e := rc.SetWriteDeadline(time.Now().Add(stallLimit)); e != nil && !errors.Is(e, http.ErrNotSupported) {
			return n, e
		}
		var m int
		m, err = w.ResponseWriter.Write(b[n:min(n+writePiece, len(b))])
		n += m
	}
	return n, err
}

// sendInPieces sends the answer to a request in pieces.
func sendInPieces(c echo.Context) {
	c.Response().Writer = &pieceWriter{ResponseWriter: c.Response().Writer}
}

// readsLists are the MCP tools whose answers need a share of the memory.
var readsLists = [][]byte{
	[]byte("get_my_queue"), []byte("list_tasks"), []byte("list_history"),
	[]byte("get_task"), []byte("todo_list"), []byte("resources/read"),
}

// admitMCP is admit for a call of a tool that reads lists, which its body says.
func (s *Server) admitMCP(c echo.Context) (leave func(), err error) {
	r := c.Request()
	if r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > largeBody {
		return func() {}, nil
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	for _, name := range readsLists {
		if bytes.Contains(body, name) {
			return s.gate.enter(r.Context(), requestHolder(c), answerShare(r))
		}
	}
	return func() {}, nil
}
