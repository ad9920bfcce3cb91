package secret

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/secret/secrettest"
)

func TestScanFindsTokensInAnyContext(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		for _, s := range drawSamples(seed) {
			for _, a := range secrettest.Surroundings {
				if s.Rule == "generic-api-key" && a.Behind == "..." {
					continue // dots replace the rest of a value
				}
				in := a.Wrap(s)
				got := Scan(in.Text)
				if len(got) == 1 && a.IsAmbiguous(s) {
					got[0].To = min(got[0].To, in.To)
				}
				want := Finding{s.Rule, 1 + strings.Count(in.Text[:in.From], "\n"), in.From, in.To}
				if !slices.Equal(got, []Finding{want}) {
					t.Errorf("%q: got %v, want %v", in.Text, got, want)
				}
			}
		}
	}
}

// Two adjacent credentials leave no byte of either.
func TestScanFindsAdjacentTokens(t *testing.T) {
	t.Parallel()
	left, right := drawSamples(21), drawSamples(22)
	for _, a := range left {
		if a.Rule == "url-password" {
			continue // a host is between them
		}
		for _, b := range right {
			if b.Text != b.Secret() {
				continue
			}
			text := a.Text + b.Text
			all := Scan(text)
			for _, s := range []Finding{{From: a.From, To: a.To},
				{From: len(a.Text) + b.From, To: len(text) - len(b.Text) + b.To}} {
				at := s.From
				for _, f := range all {
					if f.From <= at && at < f.To {
						at = f.To
					}
				}
				if at < s.To {
					t.Errorf("%s, %s: %q leaves %q", a.Rule, b.Rule, text, text[at:s.To])
				}
			}
		}
	}
}

// A prefix that ends no word marks a token even between letters, which stay in the text.
func TestScanFindsPrefixedTokensBetweenLetters(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(10) {
		others := drawSamples(seed + 10)
		for i, s := range drawSamples(seed) {
			// Groups of five letters do not look random.
			if !s.Fixed || s.Text != s.Secret() || !markFindings(s, others[i]) || s.Rule == "1password-secret-key" {
				continue
			}
			found++
			for _, a := range []secrettest.Surrounding{{Before: "X"}, {Before: "the2"}, {Behind: "x"},
				{Before: "X", Behind: "9"}, {Behind: "Gword"}} {
				in := a.Wrap(s)
				if clean, _ := Redact(in.Text); clean != a.Before+"[REDACTED:"+s.Rule+"]"+a.Behind {
					t.Errorf("%q: redacted to %q", in.Text, clean)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d tokens have a prefix", found)
	}
}
