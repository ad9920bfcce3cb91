package extract

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/loci-memory/loci"
)

// A Model extracts statements with a language model.
type Model interface {
	// Cost returns the fewest and the most tokens that a turn needs.
	Cost(t Turn) (least, most int64)
	// Extract extracts from a turn within a number of tokens, and returns how many it used, also with an error.
	Extract(ctx context.Context, t Turn, tokens int64) (list []Statement, used int64, err error)
}

// ErrMalformed reports an answer of a model that is not of the form that was asked for.
var ErrMalformed = errors.New("extract: malformed answer of the language model")

// A BusyError reports a service that has requested a pause.
type BusyError struct {
	Pause time.Duration
	Err   error
}

func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// Types are the types of extracted statements.
var Types = []loci.MemoryType{loci.TypeDecision, loci.TypePreference, loci.TypeFact, loci.TypeTask}

// Bounds of a statement of a model, in bytes. Other scripts need up to four for a character.
const (
	minModelStatement = 12
	maxModelStatement = 1200
)

// Visible returns the words of a text for a reader: without reasoning, output of tools, code and quotations.
func Visible(text string) string { return strings.TrimSpace(visibleLines(text)) }

// Accept returns the statements of a model that may be stored: the first five of a sensible length. Each is in one
// line, and a relative date gets its day. A statement that nearly equals one before it is left out.
func (t Turn) Accept(list []Statement) (kept []Statement) {
	for _, s := range list {
		text := oneLine(s.Text)
		if slices.Contains(Types, s.Type) && len(text) >= minModelStatement && len(text) <= maxModelStatement {
			kept = t.add(kept, text, s.Type, MaxStatements)
		}
	}
	return kept
}

// oneLine returns a text in one line, without characters that cannot be seen.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
