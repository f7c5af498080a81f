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

// Bounds of the memory that concurrent requests may use. An answer is built
// completely before it is sent, and stays in memory while a slow reader
// receives it.
const (
	gateBytes   = 12 << 20        // for all callers
	callerShare = 6 << 20         // for one caller
	gateWait    = 8 * time.Second // until memory is free: longer than a reader may stall
	bodyFactor  = 4               // bytes of memory per byte of a request body
	// compressorBytes is the memory of a compressor while a reader receives its
	// answer.
	compressorBytes = 1 << 20
)

// memoryGate distributes the memory for large requests and answers among the callers.
// A request waits until enough is free. A caller whose own share is used up
// waits only for their own requests, so a slow reader of many answers blocks
// nobody else.
type memoryGate struct {
	all     *semaphore.Weighted
	mu      sync.Mutex
	callers map[callerKey]*share
}

// share is the memory of one caller.
type share struct {
	sem   *semaphore.Weighted
	users int // requests that use or wait for the share
}

func newGate() *memoryGate {
	return &memoryGate{all: semaphore.NewWeighted(gateBytes), callers: map[callerKey]*share{}}
}

// acquireFor acquires bytes for a caller and returns the function that releases
// them. Errors: that of the context; CodeRateLimited if nothing became free.
func (g *memoryGate) acquireFor(ctx context.Context, caller callerKey, bytes int64) (leave func(), err error) {
	bytes = min(bytes, callerShare)
	own := g.shareFor(caller)
	if err := g.acquire(ctx, own, bytes); err != nil {
		g.releaseShare(caller, own)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errBusy()
	}
	return func() {
		g.all.Release(bytes)
		own.sem.Release(bytes)
		g.releaseShare(caller, own)
	}, nil
}

// acquire takes bytes from the caller's share and from the total. They are
// nearly always free, so the timer is created only if they are not.
func (g *memoryGate) acquire(ctx context.Context, own *share, bytes int64) error {
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

// shareFor returns the share of a caller with its users incremented.
func (g *memoryGate) shareFor(caller callerKey) *share {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.callers[caller]
	if own == nil {
		own = &share{sem: semaphore.NewWeighted(callerShare)}
		g.callers[caller] = own
	}
	own.users++
	return own
}

// releaseShare removes a user of a share, and the share with its last user.
func (g *memoryGate) releaseShare(caller callerKey, own *share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(g.callers, caller)
	}
}

// callerKey identifies the caller of a request: a token, a person, or an address.
type callerKey struct {
	token, user task.ID
	address     string
}

func requestHolder(c echo.Context) callerKey {
	switch a := actorFrom(c); {
	case a.TokenID != 0:
		return callerKey{token: a.TokenID}
	case a.UserID != 0:
		return callerKey{user: a.UserID}
	}
	return callerKey{address: c.RealIP()}
}

// admit makes a request that may need much memory wait for its share: reading
// lists or pages needs memory for the answer, a large body for itself. The
// share is released when the request has been answered, or waits for something
// else.
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
	if info.leave, err = s.gate.acquireFor(r.Context(), requestHolder(c), bytes); err != nil ||
		r.Method == http.MethodGet || !isAPI(r.URL.Path) {
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

// bufferBody reads a body of unknown length and reduces the request's share of
// the memory to what that body needs, because the call may wait long for
// something else. It runs after the caller's permission is checked.
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

// answerShare returns how many bytes the answer to a request may use until it
// is read.
func answerShare(r *http.Request) int64 {
	if acceptsGzip(r) { // callers that accept zstd also accept gzip
		return answerBytes + compressorBytes
	}
	return answerBytes
}

// readBody reads a body of bounded length, and makes it readable again. It
// allocates only what is needed: growing step by step, a body of 1 MiB would
// create 5 MiB of garbage. Errors: CodeBodyTooLarge, that of a quota,
// CodeInvalidJSON if the body is cut off.
func readBody(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, maxBody)) + bytes.MinRead) // room to notice the end
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

// largeBody is the largest body, in bytes, that needs no share of the memory.
const largeBody = 32 << 10

// hasSmallAnswer reports whether an answer is small regardless of the
// instance's size, or is a stream, which is written piece by piece.
func hasSmallAnswer(c echo.Context) bool {
	switch c.Path() {
	case "/healthz", "/readyz", "/metrics", profilePath, "/static/*", "/live", "/login", "/login/link",
		"/setup", mcpPath, "/api/me", "/api/delegate/:id": // the last one may wait
		return true
	}
	return c.Path() == "" || strings.Contains(c.Request().Header.Get("Accept"), "text/event-stream")
}

// Pace of an answer: a reader who accepts nothing for stallLimit is
// disconnected.
const (
	stallLimit = 5 * time.Second
	writePiece = 64 << 10
)

// pieceWriter sends an answer in pieces, so that a reader who stops blocks it
// for at most stallLimit.
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

// sendInPieces makes the answer to a request be sent in pieces.
func sendInPieces(c echo.Context) {
	c.Response().Writer = &pieceWriter{ResponseWriter: c.Response().Writer}
}

// readsLists are the MCP tools whose answers need a share of the memory.
var readsLists = [][]byte{
	[]byte("get_my_queue"), []byte("list_tasks"), []byte("list_history"),
	[]byte("get_task"), []byte("todo_list"), []byte("resources/read"),
}

// admitMCP is like admit, for a tool call that reads lists, as its body says.
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
			return s.gate.acquireFor(r.Context(), requestHolder(c), answerShare(r))
		}
	}
	return func() {}, nil
}
