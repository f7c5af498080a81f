package task

import "testing"

func TestAPolicySaysWhoMayDecide(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*Review{
		"none":                                 nil,
		"1 vote":                               {Approvals: 1},
		"2 votes from any reviewer":            {Approvals: 2, From: []string{"reviewer"}},
		"1 vote from maya or any admin":        {Approvals: 1, From: []string{"maya", "admin"}},
		"1 vote from maya, rita or any viewer": {Approvals: 1, From: []string{"maya", "rita", "viewer"}},
	} {
		if got := r.Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
