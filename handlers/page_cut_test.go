package handlers

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"taskyard/service"
	"taskyard/task"
)

// The bytes that are read for a page are bounded: it shows few long texts, and links
// to the others.
func TestAPageOfLongTextsLinksToTheRest(t *testing.T) {
	t.Parallel()
	// follow visits a page and the pages before it, and returns how often they show a text.
	follow := func(b *browser, path, text string, next *regexp.Regexp) (n int) {
		for path != "" {
			a := b.get(path).is(200)
			n += strings.Count(a.body, text)
			path = ""
			if m := next.FindStringSubmatch(a.body); m != nil {
				path = html.UnescapeString(m[1])
			}
		}
		return n
	}
	t.Run("of comments", func(t *testing.T) {
		t.Parallel()
		inst := newSite(t)
		id, want := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Talked about", NoStart: true}).ID, 20
		for range want {
			_, err := inst.svc.Comment(t.Context(), mayaActor, id, "Marked. "+strings.Repeat("x ", 30_000))
			inst.ok(err)
		}
		earlier := regexp.MustCompile(`href="([^"]*)"[^>]* data-earlier`)
		if n := follow(inst.maya(), "/tasks/"+id.String(), "Marked.", earlier); n < want {
			t.Errorf("got %d of %d comments", n, want)
		}
	})
	t.Run("of runs", func(t *testing.T) {
		t.Parallel()
		inst := newSite(t)
		made := make([]string, task.MaxArtifacts)
		for i := range made {
			made[i] = strings.Repeat("x", task.MaxResource)
		}
		want := 8
		for range want {
			tk := inst.newTask(mayaActor, task.New{Owner: "coder", Title: "Marked.", NoStart: true})
			st := inst.runTask(tk.ID)
			inst.ok(inst.svc.FinishRun(t.Context(), st.Run.ID, st.Run.Lease, service.Finished{
				State: task.State{Status: task.RunCompleted, Phase: task.PhaseEnded}, Artifacts: made,
			}))
		}
		older := regexp.MustCompile(`href="(/runs\?[^"]*before=[^"]*)"`)
		if n := follow(inst.maya(), "/runs", "Marked.", older); n < want {
			t.Errorf("got %d of %d runs", n, want)
		}
	})
}
