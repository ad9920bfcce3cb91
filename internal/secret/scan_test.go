package secret

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/secret/secrettest"
)

// samples draws one text for each format.
func samples(seed uint64) []secrettest.Sample {
	return secrettest.Draw(rand.New(rand.NewPCG(seed, 1)))
}

// found tells the findings of a text in one line.
func found(text string) string {
	var all []string
	for _, f := range Scan(text) {
		all = append(all, fmt.Sprintf("%s@%d:%s", f.Rule, f.Line, text[f.From:f.To]))
	}
	return strings.Join(all, " ")
}

func TestEveryRuleFindsItsTokens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		for _, s := range samples(seed) {
			for _, text := range []string{s.Text, "so: `" + s.Text + "`.", "(" + s.Text + ")", `"\n` + s.Text + `\n"`, "\r\n" + s.Text + "\r\n", "é" + s.Text + "é"} {
				at := strings.Index(text, s.Text)
				want := Finding{s.Rule, 1 + strings.Count(text[:at+s.From], "\n"), at + s.From, at + s.To}
				if got := Scan(text); !slices.Equal(got, []Finding{want}) {
					t.Errorf("%q: got %v, want %v", text, got, want)
				}
			}
		}
	}
}
