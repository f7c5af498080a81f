package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds a message on a pipe, in bytes: more than the server accepts.
const maxLine = 4 << 20

// pipe exchanges messages with a client on stdin and stdout, one per line.
type pipe struct {
	in *bufio.Reader

	mu  sync.Mutex
	out io.Writer
}

func newPipe(in io.Reader, out io.Writer) *pipe { return &pipe{in: bufio.NewReader(in), out: out} }

// read returns the messages of the next line; a batch has several. It answers
// an invalid line with a JSON-RPC error. It returns an error at the end.
func (p *pipe) read() ([]jsonrpc.Message, error) {
	for {
		line, err := p.line()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list, invalid := messages(line)
			if invalid == nil {
				return list, nil
			}
			if err := p.writeLine(invalid); err != nil {
				return nil, err
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// line reads a line. If it is too long, its beginning is returned, which is not
// a valid message.
func (p *pipe) line() (line []byte, err error) {
	for {
		part, err := p.in.ReadSlice('\n')
		if room := maxLine + 1 - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// messages parses the messages of a line, or returns the answer to an invalid
// line.
func messages(line []byte) (list []jsonrpc.Message, invalid []byte) {
	if len(line) > maxLine {
		return nil, newRPCError(nil, jsonrpc.CodeInvalidRequest, "Invalid request: a message is at most %d MiB", maxLine>>20)
	}
	if !json.Valid(line) {
		return nil, newRPCError(nil, jsonrpc.CodeParseError, "Parse error: the line is not JSON")
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &parts); err != nil || len(parts) == 0 {
			return nil, newRPCError(nil, jsonrpc.CodeInvalidRequest, "Invalid request: an empty batch")
		}
	}
	for _, part := range parts {
		msg, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			return nil, newRPCError(nil, jsonrpc.CodeInvalidRequest, notAMessage)
		}
		list = append(list, msg)
	}
	return list, nil
}

// write writes one message. It is safe for concurrent use.
func (p *pipe) write(msg jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("message not encoded: %w", err)
	}
	return p.writeLine(b)
}

func (p *pipe) writeLine(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(b, '\n'))
	return err
}
