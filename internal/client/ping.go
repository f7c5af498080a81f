package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Ping checks whether a server is ready. It needs no token.
type Ping struct {
	JSON JSONFlag `name:"json" help:"Print JSON."`
}

// Run requests /readyz. Errors: the server is not ready, or unreachable.
func (*Ping) Run(e *Env) error {
	at, err := e.address()
	if err != nil {
		return err
	}
	c := &Client{URL: at}
	base, hc := c.connect()
	req, err := http.NewRequestWithContext(e.Ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return err
	}
	once := *hc
	once.Timeout = callTime
	res, err := once.Do(req)
	if err != nil {
		return &UnreachableError{URL: at, Err: err}
	}
	defer res.Body.Close()
	var out struct {
		Ready    bool              `json:"ready"`
		Problems map[string]string `json:"problems,omitempty"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, res.Body, maxText)).Decode(&out); err != nil {
		return &UnreachableError{URL: at, Err: err, Foreign: true}
	}
	if e.JSON {
		b, err := json.Marshal(out)
		if err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, string(b))
	}
	if !out.Ready {
		var list []string
		for _, part := range slices.Sorted(maps.Keys(out.Problems)) {
			list = append(list, part+": "+printable(out.Problems[part]))
		}
		return errors.New("the server at " + at + " is not ready: " + strings.Join(list, "; "))
	}
	if !e.JSON {
		e.say("ready")
	}
	return nil
}
