package views

import (
	"testing"
	"time"

	"taskyard/task"
	"taskyard/views/ui"
)

func TestGlyphOfATask(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*task.Task)
		want   ui.Glyph
	}{
		"a draft is a dashed ring":                   {func(t *task.Task) { t.Status = task.Draft }, ui.GlyphDraft},
		"an active task is a ring":                   {nil, ui.GlyphIdle},
		"a claimed task is a pie":                    {claimed(time.Minute, 1, 2), ui.GlyphWork},
		"an open question waits":                     {func(t *task.Task) { t.QuestionID = 1 }, ui.GlyphWait},
		"a run that waits for approval waits":        {func(t *task.Task) { t.OpenRunPhase = task.PhaseApproval }, ui.GlyphWait},
		"a failure without another run is a failure": {func(t *task.Task) { t.Failures = 1 }, ui.GlyphFail},
		"a failure with another run is idle":         {func(t *task.Task) { t.Failures, t.OpenRunID = 1, 4 }, ui.GlyphIdle},
		"done is a check":                            {func(t *task.Task) { t.Status = task.Done }, ui.GlyphDone},
		"canceled is a crossed ring":                 {func(t *task.Task) { t.Status = task.Canceled }, ui.GlyphCanceled},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ui.GlyphFromTask(sampleTask(1, "x", "coder", 0, tc.change)); got != tc.want {
				t.Errorf("got %s, want %s", got.Label(), tc.want.Label())
			}
		})
	}
}

func TestEveryStateOfARunHasText(t *testing.T) {
	t.Parallel()
	for _, s := range task.States {
		if got := RunSentence(&task.Run{Status: s.Status, Phase: s.Phase}); got == string(s.Status) && s.Status != task.RunCompleted {
			t.Errorf("%s has no text", s)
		}
	}
}

func TestStreamShowsEachEntryOnce(t *testing.T) {
	t.Parallel()
	got := Stream(
		[]*task.Message{{ID: 1, Kind: task.KindComment, CreatedAt: 20}, {ID: 2, Kind: task.KindRun, CreatedAt: 21}},
		[]*task.Event{{ID: 1, Kind: task.EvTaskCreated, At: 10}, {ID: 2, Kind: task.EvCommented, At: 20}},
		[]*task.Run{{ID: 1, CreatedAt: 15}})
	if len(got) != 3 || got[0].Event == nil || got[1].Run == nil || got[2].Message == nil {
		t.Errorf("got %+v", got)
	}
}

func TestURLOmitsFiltersThatDoNotNarrow(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		URL.Queues(QueueFilter{}):                            "/queues",
		URL.Queues(QueueFilter{Query: "a&b", Sort: "title"}): "/queues?q=a%26b",
		URL.Agent("a/b"):                                     "/agents/a%2Fb",
		URL.StepSubtask(4, 0):                                "/tasks/4/steps/0/subtask",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
