package oracle

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// A writer writes random texts that an expression matches.
type writer struct {
	*strings.Builder
	*rand.Rand
}

// match returns a text that matches the expression, in ASCII where possible.
func match(r *rand.Rand, expression string) (string, error) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", err
	}
	w := writer{&strings.Builder{}, r}
	w.write(tree)
	return w.String(), nil
}

func (w writer) write(e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		w.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		w.WriteRune(w.one(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteByte("abcdefgh12345678"[w.IntN(16)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range e.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(e.Sub[w.IntN(len(e.Sub))])
	case syntax.OpQuest:
		w.repeat(e.Sub[0], 0, 1)
	case syntax.OpStar:
		w.repeat(e.Sub[0], 0, 8)
	case syntax.OpPlus:
		w.repeat(e.Sub[0], 1, 8)
	case syntax.OpRepeat:
		most := e.Max
		if most < 0 {
			most = e.Min + 8
		}
		w.repeat(e.Sub[0], e.Min, most)
	}
}

func (w writer) repeat(e *syntax.Regexp, least, most int) {
	for range least + w.IntN(most-least+1) {
		w.write(e)
	}
}

// one draws from the printable ASCII of a class, or returns its first rune.
func (w writer) one(ranges []rune) rune {
	var all []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := max(ranges[i], ' '); c <= min(ranges[i+1], '~'); c++ {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return ranges[0]
	}
	return all[w.IntN(len(all))]
}
