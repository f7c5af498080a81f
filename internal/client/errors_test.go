package client

import (
	"strings"
	"testing"
)

func TestOnlyAnUnknownPathIsBlamedOnAnOldServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		detail string
		old    bool
	}{
		"a path that the server does not know": {"No endpoint has this path; /api/docs lists all of them", true},
		"a notice that is not there":           {"No notice has the id 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &ResponseError{Status: 404, Code: "not_found", Detail: c.detail}
			if got := strings.Contains(r.Error(), "older than this program"); got != c.old {
				t.Errorf("%s", r)
			}
		})
	}
}
