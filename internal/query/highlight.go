package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci/internal/analysis"
)

// Bounds of highlights: snippets, characters in each, and how many found words
// are weighed.
const (
	maxSnippets  = 3
	snippetRunes = 240
	maxMatches   = 512
)

// A Matches is where the words of a query stand in a text.
type Matches struct {
	text     string
	matches  []match
	fallback int // of what is shown where no word stands
}

// Empty reports that no word of the query stands in the text.
func (r Matches) Empty() bool { return len(r.matches) == 0 }

// WithFallback is the reading with another place to show where no word stands.
func (r Matches) WithFallback(start int) Matches {
	r.fallback = start
	return r
}

// match is where a word of the query stands in the text, in bytes, and which of
// the word's terms stand there, a bit for each.
type match struct {
	from, to, wordIndex int
	terms               uint64
}

// Match looks for the words of a query in a text, up to maxSpots of them.
func (q Query) Match(text string) Matches { return q.Matcher().match(text) }

// A Matcher reads texts for the words of one query, one after another.
type Matcher struct {
	query    Query
	analyzer analysis.Analyzer
	matches  []match
}

// Matcher returns a reader of texts for the words of the query.
func (q Query) Matcher() *Matcher {
	r := &Matcher{query: q, analyzer: analysis.Analyzer{Prefilter: q.prefilter}}
	r.analyzer.Emit = r.observe
	return r
}

func (r *Matcher) match(text string) Matches {
	r.matches = nil
	r.analyzer.Analyze(text)
	return Matches{text: text, matches: r.matches}
}

// observe marks a term of the text that is one of the query's.
func (r *Matcher) observe(term []byte, _ analysis.TokenType) {
	if i, ok := r.query.termIndex[string(term)]; ok {
		r.record(i)
	}
	for _, i := range r.query.expansionTerms {
		if r.query.terms[i].expansion.matches(term) {
			r.record(i)
		}
	}
}

// record notes that term number i stands here, with others of its word in one spot.
func (r *Matcher) record(i int) {
	from, to := r.analyzer.SourceOffsets()
	group := r.query.terms[i].wordIndex
	bit := uint64(1) << (i - r.query.firstTerm[group])
	for n := len(r.matches); n > 0 && r.matches[n-1].from == from && r.matches[n-1].to == to; n-- {
		if s := &r.matches[n-1]; s.wordIndex == group {
			s.terms |= bit
			return
		}
	}
	if len(r.matches) < maxMatches {
		r.matches = append(r.matches, match{from, to, group, bit})
	}
	if len(r.matches) == maxMatches {
		r.analyzer.Stop()
	}
}

// MatchedWords counts the words of the query that a memory holds.
func (t *DocMatches) MatchedWords() int {
	seen := map[int]bool{}
	for _, list := range [][]match{t.Title.matches, t.Content.matches} {
		for _, s := range list {
			seen[s.wordIndex] = true
		}
	}
	return len(seen)
}

// Highlights cuts up to three snippets of at most 240 characters from the text,
// the one with most of the query's words first, in the text's own spelling. If
// none of them occurs, the only snippet is the beginning, or what From names.
func (r Matches) Highlights() []string {
	text, matches := r.text, slices.Clone(r.matches)
	if len(matches) == 0 {
		if s := snippet(text, r.fallback, r.fallback); s != "" {
			return []string{s}
		}
		return nil
	}
	var out []string
	for len(matches) > 0 && len(out) < maxSnippets {
		i, j := bestWindow(text, matches)
		from, to := snippetBounds(text, matches[i].from, matches[j].to)
		out = append(out, strings.TrimSpace(text[from:to]))
		matches = slices.DeleteFunc(matches, func(s match) bool { return s.from < to && s.to > from })
	}
	return out
}

// bestWindow finds the run of spots that fits a snippet and shows most of the
// query's words, then most spots; the earlier wins.
func bestWindow(text string, matches []match) (first, last int) {
	starts, ends := runeOffsets(text, matches)
	groups := 0
	for _, s := range matches {
		groups = max(groups, s.wordIndex+1)
	}
	best, shown := -1, make([]int, groups) // shown[g] is i+1 if the run from i on shows word g
	for i := range matches {
		words, end := 0, 0
		for j := i; j < len(matches); j++ {
			if end = max(end, ends[j]); j > i && end-starts[i] > snippetRunes {
				break
			}
			if g := matches[j].wordIndex; shown[g] != i+1 {
				shown[g] = i + 1
				words++
			}
			if n := words*maxMatches + j - i; n > best {
				best, first, last = n, i, j
			}
		}
	}
	return first, last
}

// runeOffsets tells at which characters spots begin and end.
func runeOffsets(text string, matches []match) (starts, ends []int) {
	starts, ends = make([]int, len(matches)), make([]int, len(matches))
	at, runes := 0, 0
	for i, s := range matches {
		if s.from >= at {
			runes += utf8.RuneCountInString(text[at:s.from])
			starts[i] = runes
		} else {
			starts[i] = runes - utf8.RuneCountInString(text[s.from:at])
		}
		at, runes = s.from, starts[i]
		ends[i] = runes + utf8.RuneCountInString(text[s.from:s.to])
	}
	return starts, ends
}

// snippetBounds grows a range to a snippet: a quarter of the room before it, the rest
// behind, cut between words.
func snippetBounds(text string, from, to int) (int, int) {
	budget := snippetRunes - utf8.RuneCountInString(text[from:to])
	if budget < 0 {
		return from, lastBoundary(text, from, from+analysis.RunePrefixLen(text[from:], snippetRunes))
	}
	back := analysis.RuneSuffixLen(text[:from], budget/4)
	start := from - back
	if start > 0 {
		start += skipPartialWord(text[start:from])
		for ; start < from && !startsGrapheme(text[start:]); start += analysis.RunePrefixLen(text[start:], 1) {
		}
	}
	budget -= utf8.RuneCountInString(text[start:from])
	end := to + analysis.RunePrefixLen(text[to:], budget)
	if end < len(text) {
		end = lastBoundary(text, to, to+trimPartialWord(text[to:end]))
	}
	return start, end
}

// startsGrapheme reports whether s begins with a character, and not with a mark or a letter
// that is one with what stands before.
func startsGrapheme(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return norm.NFKC.PropertiesString(s).BoundaryBefore() && !unicode.Is(unicode.M, r)
}

// lastBoundary is the last place between two characters beyond least up to at,
// or at if there is none.
func lastBoundary(text string, least, at int) int {
	for i := at; i > least; i -= analysis.RuneSuffixLen(text[:i], 1) {
		if i == len(text) || startsGrapheme(text[i:]) {
			return i
		}
	}
	return at
}

func snippet(text string, from, to int) string {
	from, to = snippetBounds(text, from, to)
	return strings.TrimSpace(text[from:to])
}

// skipPartialWord is how much of s to drop so that it begins with a whole word; nothing
// where no space is near.
func skipPartialWord(s string) int {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return i
	}
	return 0
}

// trimPartialWord is how much of s to keep so that it ends with a whole word.
func trimPartialWord(s string) int {
	if i := strings.LastIndexFunc(s, unicode.IsSpace); i > 0 {
		return i
	}
	return len(s)
}
