package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci/internal/analysis"
)

// Bounds of highlights: snippets of a text, characters of a snippet, and matches of a text.
const (
	maxSnippets  = 3
	snippetRunes = 240
	maxMatches   = 512
)

// maxNormalGrowth is the greatest number of bytes that normalization adds to a text that is matched. Of 256 KiB of
// U+FDFA, which is four words in normal form, a search would read megabytes otherwise. Texts with fewer such characters
// are read whole.
const maxNormalGrowth = 64 << 10

// Matches are the positions of the words of a query in a text.
type Matches struct {
	text     string
	matches  []match
	fallback int // start of the snippet of a text without matches
}

// Empty reports that the text has no word of the query.
func (m Matches) Empty() bool { return len(m.matches) == 0 }

// WithFallback returns the matches with another start of the snippet of a text without matches.
func (m Matches) WithFallback(start int) Matches {
	m.fallback = start
	return m
}

// A match is a byte range of the text with a word of the query. terms has a bit for each form of the word that the
// range matches.
type match struct {
	from, to, wordIndex int
	terms               uint64
}

// A Matcher matches a query against texts, one after another.
type Matcher struct {
	query    Query
	analyzer analysis.Analyzer
	matches  []match
}

// Matcher returns a matcher of the query.
func (q Query) Matcher() *Matcher {
	m := &Matcher{query: q, analyzer: analysis.Analyzer{Prefilter: q.prefilter, MaxGrowth: maxNormalGrowth}}
	m.analyzer.Emit = m.observe
	return m
}

// match returns the first maxMatches matches of the query in a text.
func (m *Matcher) match(text string) Matches {
	m.matches = nil
	m.analyzer.Analyze(text)
	return Matches{text: text, matches: m.matches}
}

// observe records a term of the text if the query has it.
func (m *Matcher) observe(term []byte, _ analysis.TokenType) {
	if i, ok := m.query.termIndex[string(term)]; ok {
		m.record(i)
	}
	for _, i := range m.query.expansionTerms {
		if m.query.terms[i].expansion.matches(term) {
			m.record(i)
		}
	}
}

// record adds a match of term number i at the current token. Forms of one word at the same position share a match.
func (m *Matcher) record(i int) {
	from, to := m.analyzer.SourceOffsets()
	word := m.query.terms[i].wordIndex
	bit := uint64(1) << (i - m.query.firstTerm[word])
	for n := len(m.matches); n > 0 && m.matches[n-1].from == from && m.matches[n-1].to == to; n-- {
		if s := &m.matches[n-1]; s.wordIndex == word {
			s.terms |= bit
			return
		}
	}
	if len(m.matches) < maxMatches {
		m.matches = append(m.matches, match{from, to, word, bit})
	}
	if len(m.matches) == maxMatches {
		m.analyzer.Stop()
	}
}

// MatchedWords returns the number of words of the query that the memory has.
func (t *DocMatches) MatchedWords() int {
	seen := map[int]bool{}
	for _, list := range [][]match{t.Title.matches, t.Content.matches} {
		for _, s := range list {
			seen[s.wordIndex] = true
		}
	}
	return len(seen)
}

// Highlights cuts up to three snippets of at most 240 characters from the text. The first has most words of the query.
// A text without matches has one snippet at its beginning, or at the start given by WithFallback.
func (m Matches) Highlights() []string {
	text, matches := m.text, slices.Clone(m.matches)
	if len(matches) == 0 {
		from, to := snippetBounds(text, m.fallback, m.fallback)
		if s := strings.TrimSpace(text[from:to]); s != "" {
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

// bestWindow returns the best run of matches within the length of a snippet. It has most distinct words, then most
// matches, then the earliest start.
func bestWindow(text string, matches []match) (first, last int) {
	starts, ends := runeOffsets(text, matches)
	groups := 0
	for _, s := range matches {
		groups = max(groups, s.wordIndex+1)
	}
	best, shown := -1, make([]int, groups) // shown[w] is i+1 if the run from i on has word w
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

// runeOffsets returns the starts and ends of matches in characters.
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

// snippetBounds extends a range to the length of a snippet. A quarter of the free characters is before it, and the rest
// behind. It cuts between words.
func snippetBounds(text string, from, to int) (int, int) {
	budget := snippetRunes - utf8.RuneCountInString(text[from:to])
	if budget < 0 {
		return from, lastBoundary(text, from, from+analysis.RunePrefixLen(text[from:], snippetRunes))
	}
	back := analysis.RuneSuffixLen(text[:from], budget/4)
	start := from - back
	if start > 0 {
		start += max(0, strings.IndexFunc(text[start:from], unicode.IsSpace))
		for ; start < from && !startsGrapheme(text[start:]); start += analysis.RunePrefixLen(text[start:], 1) {
		}
	}
	budget -= utf8.RuneCountInString(text[start:from])
	end := to + analysis.RunePrefixLen(text[to:], budget)
	if end < len(text) {
		if i := strings.LastIndexFunc(text[to:end], unicode.IsSpace); i > 0 {
			end = to + i
		}
		end = lastBoundary(text, to, end)
	}
	return start, end
}

// startsGrapheme reports whether a text begins with a character that does not combine with the one before.
func startsGrapheme(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return norm.NFKC.PropertiesString(s).BoundaryBefore() && !unicode.Is(unicode.M, r)
}

// lastBoundary returns the last boundary between characters after least, up to at. It returns at if there is none.
func lastBoundary(text string, least, at int) int {
	for i := at; i > least; i -= analysis.RuneSuffixLen(text[:i], 1) {
		if i == len(text) || startsGrapheme(text[i:]) {
			return i
		}
	}
	return at
}
