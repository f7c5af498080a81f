package mcpserver

import (
	"encoding/json"

	"taskyard/task"
)

// Bounds of a page of a transcript.
const (
	transcriptLines = 50
	transcriptBytes = 12 << 10
	transcriptText  = 1500 // bytes of a line
	transcriptData  = 500  // bytes of the details of a line; longer ones are omitted
)

// transcriptPage is a page of a delegated run's transcript.
type transcriptPage struct {
	Lines []transcriptLine `json:"lines"`
	Next  task.ID          `json:"next,omitzero"` // transcript_after of the next page; 0: there are no more lines so far
}

type transcriptLine struct {
	Type string          `json:"type"`
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// transcript reads a page of a run's transcript.
func (c *call) transcript(run, after task.ID) (*transcriptPage, error) {
	list, err := c.svc.Transcript(c.ctx, c.actor, run, after, transcriptLines)
	if err != nil {
		return nil, err
	}
	p := &transcriptPage{Lines: []transcriptLine{}}
	size := 0
	for i, m := range list {
		line := transcriptLine{Type: m.Type, Text: task.ClipText(m.Content, transcriptText)}
		if len(m.Data) <= transcriptData {
			line.Data = m.Data
		}
		if size += task.JSONBytes(line.Text) + len(line.Data); i > 0 && size > transcriptBytes {
			break
		}
		p.Lines = append(p.Lines, line)
	}
	cut := task.BudgetFromContext(c.ctx).Cut()
	if n := len(p.Lines); n > 0 && (cut || n < len(list) || n == transcriptLines) {
		p.Next = list[n-1].ID
	}
	return p, nil
}
