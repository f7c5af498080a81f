package lazyregexp_test

import (
	"testing"

	"taskyard/internal/lazyregexp"
)

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	t.Parallel()
	digits := lazyregexp.New(`^[0-9]+$`)
	if !digits().MatchString("17") || digits().MatchString("x") {
		t.Error("the expression is not the one that was given")
	}
	if once, twice := digits(), digits(); once != twice {
		t.Error("it is compiled again")
	}
}

func TestTestsMeetInvalidExpressionsAtOnce(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("( was taken")
		}
	}()
	lazyregexp.New(`(`)
}
