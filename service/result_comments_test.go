package service

import "testing"

func TestACommentFollowsItsLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hunks string
		by    int
		ok    bool
	}{
		"nothing changed":                  {"", 0, true},
		"lines were added before":          {"@@ -2,0 +3,4 @@\n", 4, true},
		"lines were removed before":        {"@@ -2,3 +1,0 @@\n", -3, true},
		"a line before was changed":        {"@@ -9 +9 @@\n", 0, true},
		"lines were added just before":     {"@@ -9,0 +10 @@\n", 1, true},
		"lines were added between":         {"@@ -10,0 +11 @@\n", 0, false},
		"lines were added just behind":     {"@@ -12,0 +13 @@\n", 0, true},
		"the first was changed":            {"@@ -10 +10 @@\n", 0, false},
		"the last was removed":             {"@@ -12,2 +11,0 @@\n", 0, false},
		"lines behind were changed":        {"@@ -13,2 +13,9 @@\n", 0, true},
		"several hunks, before and behind": {"@@ -1 +1,3 @@\n@@ -5,2 +7 @@\n@@ -20 +21 @@\n", 1, true},
		"the file cannot be compared":      {"?", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			by, ok := movedLine(tt.hunks, 10, 12)
			if by != tt.by || ok != tt.ok {
				t.Errorf("moved by %d, %v; want %d, %v", by, ok, tt.by, tt.ok)
			}
		})
	}
}
