//go:build linux

package repository

import (
	"fmt"
	"strings"
	"testing"
)

// large returns a repository with a branch that changes 200 files and 20,000 lines.
func large(b *testing.B) (s *site, base, head string) {
	first, second := files{}, files{}
	for i := range 200 {
		var was, is strings.Builder
		for j := range 300 {
			fmt.Fprintf(&was, "line %d of file %d, as it was in the beginning\n", j, i)
			if j%3 == 0 {
				fmt.Fprintf(&is, "line %d of file %d, as it became\n", j, i)
			} else {
				fmt.Fprintf(&is, "line %d of file %d, as it was in the beginning\n", j, i)
			}
		}
		name := fmt.Sprintf("pkg%d/file%d.go", i%20, i)
		first[name], second[name] = was.String(), is.String()
	}
	s = newSite(b, first)
	head = s.branch("fix", "main", second)
	return s, s.git("rev-parse", "main"), head
}

// BenchmarkFiles lists a result of 200 files and 20,000 changed lines.
func BenchmarkFiles(b *testing.B) {
	s, base, head := large(b)
	for b.Loop() {
		list, total, err := s.rs.Files(b.Context(), s.repo, base, head)
		ok(b, err)
		if total != 200 || list[0].Added != 100 {
			b.Fatalf("got %d files, %+v", total, list[0])
		}
	}
}

func BenchmarkFileDiff(b *testing.B) {
	s, base, head := large(b)
	for b.Loop() {
		_, err := s.rs.FileDiff(b.Context(), s.repo, base, head, "pkg7/file107.go", 3)
		ok(b, err)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s, _, _ := large(b)
	for b.Loop() {
		s.t = b
		s.revision("fix")
	}
}
