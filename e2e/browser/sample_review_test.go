package browser

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"taskyard/internal/testkit"
	"taskyard/internal/testkit/testgit"
	"taskyard/service"
	"taskyard/task"
)

// reviewSample is an instance with a project: a task whose result is in review, with
// comments, and merges in every state.
type reviewSample struct {
	*instance
	repo *testgit.Repo
	id   task.ID // the task in review
}

func bucket(burst string) string {
	return "package limit\n\nimport (\n\t\"sync\"\n\t\"time\"\n)\n\n// Bucket holds the tokens of one caller.\n" +
		"type Bucket struct {\n\tmu     sync.Mutex\n\ttokens int\n\tat     time.Time\n}\n\n// Take takes a token, if there is one.\n" +
		"func (b *Bucket) Take(now time.Time) bool {\n\tb.mu.Lock()\n\tdefer b.mu.Unlock()\n" + burst +
		"\tif b.tokens == 0 {\n\t\treturn false\n\t}\n\tb.tokens--\n\treturn true\n}\n"
}

func newReviewSample(t testing.TB) *reviewSample {
	t.Helper()
	git := testgit.Open(t)
	agents := maps.Clone(agentFiles)
	agents["tester"] = "---\ndescription: Writes tests.\ntools: read, edit\nrunner: none\nprojects: [web]\nchecks:\n" +
		"  - {name: cover, run: \"go test -cover ./... | tools/atleast 80\", required: true}\n" +
		"review: {approvals: 2, from: [maya, reviewer]}\n---\nTest.\n"
	s := &reviewSample{instance: newInstanceWith(t, agents, func(c *service.Config) { c.Repositories = git })}
	s.repo = testgit.New(t, map[string]string{
		"limit/bucket.go": bucket(""), "README.md": "# API\n\nNo limits yet.\n", "old.txt": "old\n", "docs/limits.md": "None.\n",
	})
	must(s.svc.CreateProject(ctx, s.maya, task.Project{
		Key: "web", Name: "Public API", Repository: s.repo.Dir, Setup: []string{"echo ready"},
		Checks: []task.Check{
			{Name: "test", Run: "echo 'ok  example.com/api/limit 1.824s'", Required: true},
			{Name: "lint", Run: `printf 'limit.go:20:2: \033[31mtoo long\033[0m\n'; exit 1`},
		},
		Review: task.Review{Approvals: 1, From: []string{"maya", "reviewer"}, ExpiresSeconds: 72 * 3600, StandIn: "maya"},
		Merge:  &task.Merge{Checks: []task.Check{{Name: "race", Run: "true"}}},
	}))
	s.clock.Behind(20 * time.Minute)
	s.id = s.create(task.New{Title: "Add rate limiting to the public API", Owner: "scout", Priority: 9, Project: "web"}).ID
	s.handIn(s.id, "A **token bucket** for each caller: 60 requests per minute, burst 20.", map[string]string{
		"limit/bucket.go": bucket("\tb.refill(now)\n"), "docs/limits.md": "60 requests per minute.\nBurst 20.\n", "old.txt": "",
		"limit/very_long_name_of_a_file_that_does_not_fit_in_a_line_of_a_narrow_screen_test.go": "package limit\n" + strings.Repeat("// a line\n", 30),
		"limit/big.txt": strings.Repeat("a line of a big file\n", 900), "limit/\u202eevil.go": "package limit // \u202e hidden\n",
	})
	return s
}

// merging adds accepted changes: one that is merged, one that conflicts with it, and
// one that waits.
func (s *reviewSample) merging() *reviewSample {
	s.t.Helper()
	must(s.svc.CreateProject(ctx, s.maya, task.Project{Key: "handbook", Review: task.Review{Approvals: 2}}))
	for i, readme := range []string{"# API\n\nLimits: see docs.\n", "# API\n\nLimited.\n", "# API\n\nAll limited.\n"} {
		title := []string{"Say where the limits are", "Say that there are limits", "Say it again"}[i]
		id := s.create(task.New{Title: title, Owner: "scout", Project: "web"}).ID
		r := s.handIn(id, "The README says it.", map[string]string{"README.md": readme})
		if i == 2 { // a local change blocks it
			s.repo.Write(s.repo.Dir, map[string]string{"README.md": "# Mine\n"})
		}
		must(s.svc.AcceptResult(ctx, s.maya, id, 1, r.Digest, "Fine."))
		if i < 2 {
			s.until("the merge has ended or waits", func() bool {
				_, ended, err := s.svc.ProjectMerges(ctx, s.maya, "", 0, 10)
				must(s.t, err)
				return len(ended) > i
			})
		}
	}
	return s
}

// handIn puts files on the branch of a task and completes it.
func (s *reviewSample) handIn(id task.ID, summary string, files map[string]string) *task.Result {
	s.t.Helper()
	tk := must(s.svc.Task(ctx, s.maya, id))
	s.repo.Commit(fmt.Sprintf("taskyard/%d-%s", id, task.Slug(tk.Title, 40)), files)
	must(s.svc.CompleteTask(ctx, s.maya, id, summary, 0))
	return must(s.svc.Result(ctx, s.maya, id, 0))
}

// discussed adds comments: one that was sent and answered, and a draft.
func (s *reviewSample) discussed() *reviewSample {
	s.t.Helper()
	comment := func(line int, text string) task.ReviewComment {
		return must(s.svc.DraftComment(ctx, s.maya, s.id, 0, task.ReviewComment{
			Path: "limit/bucket.go", Side: "new", Line: line, EndLine: line + 1, Excerpt: "\tb.refill(now)\n\tif b.tokens == 0 {\n", Text: text,
		}))
	}
	c := comment(19, "What if the clock **jumps back**?")
	must(s.svc.SubmitComments(ctx, s.maya, s.id))
	must(s.svc.ReplyReview(ctx, task.Actor{Name: "scout", Role: task.RoleAgent}, s.id, c.ID, task.CommentFixed,
		"It is taken as no time at all."))
	comment(21, "Say which limit was hit.")
	return s
}

// pages are the pages of projects, reviews and merges in every main state.
func (s *reviewSample) pages() []shown {
	review, checks := path(s.id, "/review"), must(s.svc.CheckRuns(ctx, s.maya, s.id))
	return []shown{
		{"review", review, nil},
		{"review-split", review + "?view=split", nil},
		{"review-old", review + "?view=unified", func(b *tab) { b.click(".checklist summary") }},
		{"review-accept", review, func(b *tab) { b.click("[data-approve]") }},
		{"review-changes", review, func(b *tab) { b.click("[data-reject]") }},
		{"review-file", path(s.id, "/review/file?path=limit%2Fbucket.go&side=new&line=19"), nil},
		{"review-check", path(s.id, "/checks/"+checks[0].ID.String()), nil},
		{"review-checks", path(s.id, "/checks"), nil},
		{"review-checks-form", path(s.id, "/checks"), func(b *tab) {
			b.press("button|Add check")
			b.wait(`document.querySelector("[name='checks[0].name']")`)
		}},
		{"review-agent", "/agents/tester", nil},
		{"review-agent-edit", "/agents/tester/edit", nil},
		{"review-task", path(s.id, ""), nil},
		{"review-inbox", "/", nil},
		{"review-board", "/queues?project=web", nil},
		{"review-tasks", "/tasks?project=web", nil},
		{"review-new-task", "/tasks/new?project=web", nil},
		{"projects", "/settings/projects", nil},
		{"project", "/settings/projects/web", nil},
		{"project-new", "/settings/projects/new", func(b *tab) {
			b.fill("#key", "site")
			b.fill("#repository", "/nowhere")
			b.press("button|Check repository")
			b.wait(`document.querySelector("#findings")`)
		}},
		{"merges", "/merges", nil},
		{"insights-projects", "/insights?range=24h", func(b *tab) {
			b.wait(`document.querySelector("#by-project")`)
			eval[chromedp.Void](b, `void document.querySelector("#by-project").scrollIntoView()`)
		}},
		{"insights-project", "/insights?range=24h&project=web", nil},
		{"keys-review", review, func(b *tab) { b.keys("?") }},
	}
}

func TestPagesOfReviewsAreAccessible(t *testing.T) {
	t.Parallel()
	s := newReviewSample(t).merging().discussed()
	b := withAxe(s.tab())
	b.expect("422")
	for i, p := range testkit.Sample(8, only(s.pages())) {
		examine(t, b, p, seen(i))
	}
}
