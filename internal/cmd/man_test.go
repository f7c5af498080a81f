package cmd

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"taskyard/internal/buildinfo"
)

func TestTheManualPage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := &Env{
		Ctx: t.Context(), Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
		Build: buildinfo.Info{Version: "v1.2.3", Date: "2026-10-01T10:00:00Z"},
	}
	if code := Run(e, []string{"man-page"}); code != exitOK {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	for _, want := range []string{
		`.TH TASKYARD 1 "2026-10-01" "taskyard v1.2.3"`, ".B serve", ".B task create", `\-\-listen`, "TASKYARD_URL", "SIGHUP",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if strings.Contains(out.String(), "complete-words") {
		t.Error("the page shows a hidden command")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	c := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z")
	c.Stdin = bytes.NewReader(out.Bytes())
	if said, err := c.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("groff: %v\n%s", err, said)
	}
}
