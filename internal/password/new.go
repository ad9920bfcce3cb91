package password

import (
	_ "embed"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
)

// A New is a new password of an account, and the field of the input that holds it.
type New struct {
	Field    string
	Password loci.Password
	Email    loci.Email
}

// commonList has the commonest passwords of ten characters or more, one a line, in lower case. The type of a password
// refuses shorter ones.
//
//go:embed common.txt
var commonList string

var common = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(commonList) {
		set[strings.TrimSpace(line)] = true
	}
	return set
})

// check refuses a password that is guessed first: letter case and outer white space do not count.
func (n New) check() error {
	text := fold(string(n.Password))
	email := fold(string(n.Email))
	local, _, _ := strings.Cut(email, "@")
	what := ""
	switch {
	case text == "":
		what = "must not be white space alone"
	case repeats(text, email) || repeats(text, local):
		what = "must not be your e-mail address or the part before its @"
	case common()[text]:
		what = "must not be one of the 10,000 commonest"
	default:
		return nil
	}
	return loci.Errorf(loci.CodeInvalidQuery,
		"%s %s: choose some words that do not belong together, or let a password manager make one", n.Field, what)
}

func fold(text string) string { return strings.TrimSpace(strings.ToLower(norm.NFKC.String(text))) }

// repeats reports whether a text is a unit once or several times.
func repeats(text, unit string) bool { return unit != "" && strings.ReplaceAll(text, unit, "") == "" }
