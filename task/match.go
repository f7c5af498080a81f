package task

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords is how many words of a search count.
const maxWords = 10

// SearchWords returns the words of what a person typed, at most ten: letters
// and digits, anything else separates them.
func SearchWords(q string) []string {
	words := strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return words[:min(len(words), maxWords)]
}

// Span is a piece of a text, and whether a search matched it.
type Span struct {
	Text  string
	Match bool
}

// Matcher finds the words of a search in texts, as the full-text index does:
// letters in either case, with or without accents; the last word may be the
// beginning of one.
type Matcher struct{ words []string }

// NewMatcher returns the matcher of what a person typed.
func NewMatcher(q string) Matcher {
	words := SearchWords(q)
	for i, w := range words {
		words[i] = fold(w)
	}
	return Matcher{words}
}

// place is where a word of the search appears in a text.
type place struct{ from, to, word int }

// Mark splits a whole text into what matches and what does not.
func (m Matcher) Mark(text string) []Span { return spans(text, 0, len(text), m.places(text)) }

// Excerpt returns about width bytes of a text around the place where most words
// of the search appear together, and how many these are. White space is folded
// into single spaces. It returns nothing if no word appears.
func (m Matcher) Excerpt(text string, width int) (list []Span, words int) {
	found := m.places(text)
	best, shortest := 0, 0
	for i := range found {
		n, span := wordsWithin(found[i:], width)
		if n > words || n == words && span < shortest {
			best, words, shortest = i, n, span
		}
	}
	if words == 0 {
		return nil, 0
	}
	from := wordStart(text, found[best].from-width/4)
	to := wordEnd(text, max(from+width, found[best].to))
	list = spans(text, from, to, found)
	for i := range list {
		list[i].Text = collapseSpaces(list[i].Text)
	}
	if from > 0 {
		list = append([]Span{{Text: "… "}}, list...)
	}
	if to < len(text) {
		list = append(list, Span{Text: " …"})
	}
	return list, words
}

// wordsWithin counts the words of the search that appear within width bytes, the
// first of the places among them, and the bytes that they span.
func wordsWithin(found []place, width int) (words, span int) {
	seen := 0
	for _, p := range found {
		if p.to > found[0].from+width {
			break
		}
		if bit := 1 << p.word; seen&bit == 0 {
			seen |= bit
			words, span = words+1, p.to-found[0].from
		}
	}
	return words, span
}

// Fits reports whether all words of the search appear in a text, wherever.
func (m Matcher) Fits(text string) bool {
	all, seen := 1<<len(m.words)-1, 0
	for at := 0; at < len(text) && seen != all; {
		from := at
		for at < len(text) && wordByte[text[at]] {
			at++
		}
		if at < len(text) && text[at] >= utf8.RuneSelf {
			return m.fitsWords(text, from, seen)
		}
		for i, q := range m.words {
			if seen&(1<<i) == 0 && (at-from == len(q) || at-from > len(q) && i == len(m.words)-1) && lowerASCII(text[from:], q) {
				seen |= 1 << i
			}
		}
		at++
	}
	return all > 0 && seen == all
}

// fitsWords is Fits of the rest of a text that is not only ASCII; seen are the
// words that came before.
func (m Matcher) fitsWords(text string, from, seen int) bool {
	for w := range strings.FieldsFuncSeq(text[from:], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
	}) {
		w = fold(w)
		for i, q := range m.words {
			if w == q || i == len(m.words)-1 && strings.HasPrefix(w, q) {
				seen |= 1 << i
			}
		}
	}
	return seen == 1<<len(m.words)-1
}

// wordByte holds the ASCII letters and digits.
var wordByte = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
	}
	return is
}()

// lowerASCII reports whether a text begins with a word of small letters and
// digits, in either case.
func lowerASCII(text, word string) bool {
	for i := range len(word) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// All reports whether a number of words that were found is all of them.
func (m Matcher) All(words int) bool { return words >= len(distinct(m.words)) }

func distinct(words []string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	return set
}

// places finds every word of the search in a text, in order.
func (m Matcher) places(text string) (list []place) {
	if len(m.words) == 0 {
		return nil
	}
	start := -1
	for i, r := range text {
		if inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && unicode.Is(unicode.Mn, r); inWord == (start >= 0) {
			continue
		} else if inWord {
			start = i
		} else {
			list, start = m.test(list, text, start, i), -1
		}
	}
	if start >= 0 {
		list = m.test(list, text, start, len(text))
	}
	return list
}

func (m Matcher) test(list []place, text string, from, to int) []place {
	if to-from > 400 { // no word of a search is so long
		return list
	}
	w := fold(text[from:to])
	for i, q := range m.words {
		if w == q || i == len(m.words)-1 && strings.HasPrefix(w, q) {
			return append(list, place{from, to, i})
		}
	}
	return list
}

func spans(text string, from, to int, found []place) (list []Span) {
	at := from
	for _, p := range found {
		if p.from < at || p.to > to {
			continue
		}
		if p.from > at {
			list = append(list, Span{Text: text[at:p.from]})
		}
		list = append(list, Span{Text: text[p.from:p.to], Match: true})
		at = p.to
	}
	if at < to {
		list = append(list, Span{Text: text[at:to]})
	}
	return list
}

// wordStart moves back from a byte to the beginning of a word, not far.
func wordStart(text string, at int) int {
	if at <= 0 {
		return 0
	}
	for i := at; i > max(0, at-40); i-- {
		if text[i] == ' ' || text[i] == '\n' {
			return i + 1
		}
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

func wordEnd(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for i := at; i < min(len(text), at+40); i++ {
		if text[i] == ' ' || text[i] == '\n' {
			return i
		}
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// collapseSpaces folds white space into single spaces, at the ends too.
func collapseSpaces(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			gap = true
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	if gap {
		b.WriteByte(' ')
	}
	return b.String()
}

// plainLetters are the Latin letters with accents, by the letter without.
var plainLetters = func() map[rune]rune {
	m := map[rune]rune{}
	for plain, list := range map[rune]string{
		'a': "àáâãäåāăąǎȁȃạảấầẩẫậắằẳẵặ", 'c': "çćĉċč", 'd': "ď", 'e': "èéêëēĕėęěȅȇẹẻẽếềểễệ", 'g': "ĝğġģǧ", 'h': "ĥ",
		'i': "ìíîïĩīĭįǐȉȋỉị", 'j': "ĵ", 'k': "ķǩ", 'l': "ĺļľ", 'n': "ñńņň", 'o': "òóôõöōŏőǒȍȏơọỏốồổỗộớờởỡợ", 'r': "ŕŗřȑȓ",
		's': "śŝşšș", 't': "ţťț", 'u': "ùúûüũūŭůűųǔȕȗưụủứừửữự", 'w': "ŵẁẃẅ", 'y': "ýÿŷỳỵỷỹ", 'z': "źżž",
	} {
		for _, r := range list {
			m[r] = plain
		}
	}
	return m
}()

// fold writes a word as the index knows it: small letters without accents.
func fold(w string) string {
	var b strings.Builder
	for _, r := range w {
		if r >= 0x300 && unicode.Is(unicode.Mn, r) {
			continue
		}
		r = unicode.ToLower(r)
		if p, ok := plainLetters[r]; ok {
			r = p
		}
		b.WriteRune(r)
	}
	return b.String()
}
