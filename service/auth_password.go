package service

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ccojocar/zxcvbn-go/data"
	passwordvalidator "github.com/wagslane/go-password-validator"

	"taskyard/task"
)

// Bounds of passwords.
const (
	minPassword = 12 // characters
	maxPassword = 512
	minEntropy  = 50 // bits
)

// checkPassword reports why a password is not good enough. about are words that
// somebody would try first, such as the person's name: they count for nothing.
func checkPassword(p *task.Problems, password string, about ...string) {
	if !p.CheckText("password", password, maxPassword) {
		return
	}
	if n := len([]rune(password)); n < minPassword {
		p.Add("password", "must be at least %d characters, not %d", minPassword, n)
		return
	}
	if why := passwordWeakness(password, about); why != "" {
		p.Add("password", "%s: use several unrelated words, or let a password manager generate one", why)
	}
}

// passwordWeakness returns why a password is easily guessed, or "".
func passwordWeakness(password string, about []string) string {
	plain := strings.ToLower(password)
	rest := plain
	for _, w := range contextWords(about) {
		rest = strings.ReplaceAll(rest, w, "")
	}
	rest = withoutRepetition(rest)
	if commonPasswords()[plain] || commonPasswords()[baseWord(plain)] || commonPasswords()[baseWord(rest)] {
		return "is among the passwords that are guessed first"
	}
	if bits := passwordvalidator.GetEntropy(rest); bits < minEntropy {
		return "is too easily guessed (repetitions, sequences, and your name or Taskyard's count for nothing)"
	}
	return ""
}

// contextWords are the words about a person and this program, without those
// that are too short to mean anything.
func contextWords(about []string) []string {
	words := []string{"taskyard", "password", "passwort"}
	for _, a := range about {
		a = strings.ToLower(a)
		words = append(words, a)
		words = append(words, strings.FieldsFunc(a, func(r rune) bool { return !unicode.IsLetter(r) })...)
	}
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 })
}

// withoutRepetition returns the shortest part whose repetition makes s up.
func withoutRepetition(s string) string {
	r := []rune(s)
	for n := 1; n <= len(r)/2; n++ {
		if part := string(r[:n]); strings.HasPrefix(strings.Repeat(part, len(r)/n+1), s) {
			return part
		}
	}
	return s
}

// baseWord is s without the digits and signs around it, and with letters for
// the signs that commonly stand for them.
func baseWord(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.NewReplacer("@", "a", "4", "a", "0", "o", "1", "l", "3", "e", "5", "s", "$", "s", "7", "t").Replace(s)
}

// commonPasswords are the 7,000 passwords that leak most often.
// They are unpacked when a password is first set.
var commonPasswords = sync.OnceValue(func() map[string]bool {
	var file struct{ List []string }
	if b, err := data.Asset("data/Passwords.json"); err != nil || json.Unmarshal(b, &file) != nil {
		panic("the list of common passwords cannot be read") // it is part of the program
	}
	set := make(map[string]bool, len(file.List))
	for _, w := range file.List {
		set[w] = true
	}
	return set
})
