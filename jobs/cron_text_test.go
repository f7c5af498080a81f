package jobs

import "testing"

func TestCronText(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"0 6-21 * * *":     "every hour from 6:00 to 21:00",
		"15 6-21 * * 1-5":  "every hour from 6:15 to 21:15 from Monday to Friday",
		"0 * * * *":        "every hour",
		"5 * * * *":        "every hour at minute 5",
		"0 */2 * * *":      "every 2 hours",
		"30 3 * * *":       "every day at 3:30",
		"0 8,12,18 * * *":  "every day at 8:00, 12:00 and 18:00",
		"0 9 * * 0":        "at 9:00 on Sunday",
		"0 9 * * 7,3":      "at 9:00 on Sunday and Wednesday",
		"*/15 8-17 * * *":  "every 15 minutes from 8:00 to 17:59",
		"* * * * *":        "every minute",
		"0 0 1 * *":        "at 0:00 on day 1 of each month",
		"0 0 24 12 *":      "at 0:00 on 24 December",
		"0 0 1 1 1":        "", // day or weekday: too long to describe
		"0 0 1-3 * *":      "",
		"1,2 3 * * *":      "",
		"0 6-21/2 * * *":   "",
		"0 6 * JAN *":      "",
		"0 6 * * MON":      "",
		"0 21-6 * * *":     "",
		"@daily":           "",
		"61 6 * * *":       "",
		"*/0 6 * * *":      "",
		"0 6-21 * * * *":   "",
		"0 6,25 * * *":     "",
		"5 6,x * * *":      "",
		"*/5 1,2 * * *":    "",
		"0 0 1 13 *":       "",
		"0 0 * * 8":        "",
		"0 0 * 3 2":        "",
		"0 0 x 3 *":        "",
		"99999999999999 ?": "",
	} {
		if got := cronText(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestNextTicksMatchTheClock(t *testing.T) {
	t.Parallel()
	inst := newInstance(t, setup{jobs: func(o *Options) { o.Plan.Enabled, o.Plan.Cron = true, "0 6-21 * * *" }})
	list := inst.jobs.NextTicks(5)
	if len(list) != 5 || list[0] != inst.jobs.NextTick() {
		t.Fatalf("got next ticks %v and NextTick %v", list, inst.jobs.NextTick())
	}
	for i, at := range list {
		if hour := at.Std().In(inst.opt.Plan.Location).Hour(); hour < 6 || hour > 21 || i > 0 && at <= list[i-1] {
			t.Errorf("tick %d: got %v", i, at)
		}
	}
	if off := newInstance(t, setup{}); len(off.jobs.NextTicks(5)) != 0 {
		t.Error("ticks are scheduled although they are off")
	}
}
