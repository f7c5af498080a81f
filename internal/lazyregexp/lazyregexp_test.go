package lazyregexp_test

import (
	"testing"

	"taskyard/internal/lazyregexp"
)

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	digits := lazyregexp.New(`^[0-9]+$`)
	if !digits().MatchString("17") || digits().MatchString("x") {
		t.Error("got another expression than the given one")
	}
	if once, twice := digits(), digits(); once != twice {
		t.Error("the expression was compiled again")
	}
}

func TestInvalidExpressionsPanicInTests(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("the invalid expression ( was accepted")
		}
	}()
	lazyregexp.New(`(`)
}
