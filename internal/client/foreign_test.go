package client

import (
	"net/http"
	"strings"
	"testing"
)

func TestTheAnswerOfAnotherProgramIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"an empty answer": "", "a page": "<html>", "a list": "[]"} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := answering(t, http.StatusOK, "text/html", body)
			var out strings.Builder
			e := &Env{Ctx: t.Context(), Stdout: &out, client: c}
			err := (&WhoAmI{}).Run(e)
			if ExitCode(err) != ExitUnreachable || out.Len() > 0 || !strings.Contains(err.Error(), "another program than Taskyard answered") {
				t.Errorf("got %v, and printed %q", err, out.String())
			}
		})
	}
}
