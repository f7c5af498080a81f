package task

import "strings"

// Nearest returns the known word that was probably meant, or "".
func Nearest(word string, known []string) string {
	if len(word) > 64 || word == "" {
		return ""
	}
	best, shortest := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := distance(word, k); d < shortest {
			best, shortest = k, d
		}
	}
	if best != "" || len(word) < 4 {
		return best
	}
	for _, k := range known {
		if strings.Contains(k, word) || len(k) >= 4 && strings.Contains(word, k) {
			return k
		}
	}
	return ""
}

// distance is the number of letters to put in, take out or replace
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
