package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"taskyard/task"
)

// Env is the environment of a command, including its server.
type Env struct {
	Ctx            context.Context
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Width          int // columns of the terminal on Stdout; 0: not a terminal
	JSON           bool
	Command        string // command name, such as lpop
	AddressFile    string // where the service of this machine writes its address; "": none

	client *Client
	me     *Me
}

// JSONFlag prints the server's answer instead of text.
type JSONFlag bool

// BeforeApply sets the output format.
func (JSONFlag) BeforeApply(e *Env) error {
	e.JSON = true
	return nil
}

// api returns the client that the environment configures.
func (e *Env) api() (*Client, error) {
	if e.client != nil {
		return e.client, nil
	}
	at, token, err := e.Connection()
	if err != nil {
		return nil, err
	}
	e.client = &Client{URL: at, Token: token}
	return e.client, nil
}

// Connection returns the address and token of the server that the environment
// names, or of the service on this machine. A token is never taken from argv,
// which other programs can read. It returns a usage error.
func (e *Env) Connection() (at, token string, err error) {
	if at, err = e.address(); err != nil {
		return "", "", err
	}
	token, err = e.Token()
	return at, token, err
}

// Token returns the token in the environment, or in the file that it names. It
// returns a usage error.
func (e *Env) Token() (string, error) {
	token, file := strings.TrimSpace(e.Getenv("TASKYARD_TOKEN")), e.Getenv("TASKYARD_TOKEN_FILE")
	if token == "" && file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", usagef("TASKYARD_TOKEN_FILE: %v", err)
		}
		token = strings.TrimSpace(string(b))
	}
	if token == "" {
		return "", usagef("set TASKYARD_TOKEN or TASKYARD_TOKEN_FILE; create a token on the " +
			"Settings page, or with: taskyard token create --data DIR --agent NAME")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("TASKYARD_TOKEN contains more than one token")
	}
	return token, nil
}

// call makes one request and decodes the answer into out. It also returns the
// raw answer.
func (e *Env) call(method, path string, in, out any) ([]byte, error) {
	return e.wait(0, method, path, in, out)
}

// wait is like call, for requests that the server may delay.
func (e *Env) wait(d time.Duration, method, path string, in, out any) ([]byte, error) {
	c, err := e.api()
	if err != nil {
		return nil, err
	}
	raw, err := c.send(e.Ctx, method, path, in, d)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, &UnreachableError{URL: c.URL, Err: err, Foreign: true}
	}
	return raw, nil
}

// Me is the owner of the token.
type Me struct {
	Name  string    `json:"name"`
	Role  task.Role `json:"role"`
	Scope string    `json:"scope"`
	Agent string    `json:"agent"`
}

// agent returns the agent that a command refers to: the argument, or else that
// of the environment, or else the token's own. how says how to specify an
// agent.
func (e *Env) agent(how, given string) (string, error) {
	if given = cmp.Or(given, e.Getenv("TASKYARD_AGENT")); given != "" {
		return given, nil
	}
	if e.me == nil {
		e.me = &Me{}
		if _, err := e.call("GET", "/api/me", nil, e.me); err != nil {
			return "", err
		}
	}
	if e.me.Agent == "" {
		return "", usagef("name the agent %s, or in TASKYARD_AGENT: the token belongs to %s", how, printable(e.me.Name))
	}
	return e.me.Agent, nil
}

// id parses a task ID; within a run it may be omitted.
func (e *Env) id(given string) (string, error) {
	if given = cmp.Or(given, e.Getenv("TASKYARD_TASK_ID")); given == "" {
		return "", usagef("name the task by its ID, such as 5; TASKYARD_TASK_ID is the default within a run")
	}
	return parseID(given)
}

func parseID(given string) (string, error) {
	id, err := task.ParseID(strings.TrimPrefix(given, "#"))
	if err != nil {
		return "", usagef("%v", err)
	}
	return id.String(), nil
}

// maxText bounds how much of a text is read, in bytes; the server accepts less.
const maxText = 1 << 20

// text returns an argument, or with "-" stdin, or a file. A final newline in
// stdin or the file is removed.
func (e *Env) text(arg, file string) (string, error) {
	if arg != "" && file != "" {
		return "", usagef("give the text once: as an argument, or with --file")
	}
	if arg == "-" {
		file = arg
	}
	if file == "" {
		return checked(arg)
	}
	in := e.Stdin
	if file != "-" {
		f, err := OpenUntil(e.Ctx, file)
		if err != nil {
			return "", usagef("%v", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if errors.Is(err, ErrInterrupted) {
		return "", err
	}
	if err != nil {
		return "", usagef("%v", err)
	}
	if len(b) > maxText {
		return "", usagef("the text is over 1 MiB")
	}
	s := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	return checked(s)
}

// checked rejects what JSON would silently replace.
func checked(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", usagef("the text is not UTF-8")
	}
	return s, nil
}

// TextFile is the flag for reading a text from a file.
type TextFile struct {
	File string `help:"Read the text from this file; - is stdin." short:"f" placeholder:"FILE" complete:"file"`
}

// taskAndText parses the arguments of a command: the task ID and a text. Within
// a run the ID may be omitted; a text alone must then not look like one.
func (e *Env) taskAndText(id, arg string, w TextFile) (string, string, error) {
	if arg == "" && w.File == "" {
		if _, err := parseID(id); id != "" && err == nil {
			return "", "", usagef("give the id and the text; - reads the text from stdin")
		}
		id, arg = "", id
	}
	if arg == "" && w.File == "" {
		return "", "", usagef("give a text: as an argument, from stdin with -, or with --file FILE")
	}
	id, err := e.id(id)
	if err != nil {
		return "", "", err
	}
	text, err := e.text(arg, w.File)
	return id, text, err
}
