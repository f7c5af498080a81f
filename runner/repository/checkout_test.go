//go:build linux

package repository

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAMergeFindsAFolderWhoseRepositoryIsElsewhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, files{"a.txt": "a\n"})
	s.branch("fix", "main", files{"a.txt": "changed\n"})
	s.git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
	o := s.order(1, "fix")
	m := s.apply(o)
	ok(t, s.rs.Advance(t.Context(), o, m.Before, m.After))
	same(t, "status", s.git("status", "--porcelain"), "")
	if b, err := os.ReadFile(filepath.Join(s.repo, "a.txt")); err != nil || string(b) != "changed\n" {
		t.Errorf("a.txt is %q, %v", b, err)
	}
}
