package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Repairs: a word of at least repairWord characters is taken for another one of at
// least shortestRepair, with one letter other, missing, too much or swapped with
// the next, from twoErrors characters on two of them. Of a query so many words are
// repaired at most, and of so many the first letter is doubted, which takes some
// fifty look-ups, .3 ms among 100,000 memories.
const (
	repairWord     = 4
	shortestRepair = 3
	twoErrors      = 8
	mostErrors     = 2
	longestRepair  = 32
	maxRepairs     = 6
	maxFirsts      = 2
)

// repairWeight is the weight of a word that stands for another one.
const repairWeight = .8

// mayRepair reports whether a term of a query may have been misspelled.
func mayRepair(t *queryTerm) bool {
	n := utf8.RuneCountInString(t.text)
	return t.role == word && !t.fixed && n >= repairWord && n <= longestRepair &&
		!strings.ContainsAny(t.text, "0123456789") && !isCommon(t.text)
}

// Suspects lists the words of a query that a workspace which does not know them takes for misspelled ones.
func (q Query) Suspects() (words []string) {
	if q.without.Has(FeatureRepair) {
		return nil
	}
	for _, at := range q.first {
		if mayRepair(&q.terms[at]) {
			words = append(words, q.terms[at].text)
		}
	}
	return words
}

// Doubting is the query of which a workspace corrects no words but these.
func (q Query) Doubting(words []string) Query {
	q.checked, q.doubted = true, words
	return q
}

// trusts reports a word that is not corrected, whatever the workspace knows.
func (q *Query) trusts(word string) bool { return q.checked && !slices.Contains(q.doubted, word) }

// Unknown leaves those words in a list of which a workspace knows no form. It has answered q with r.
func (r Result) Unknown(q Query, words []string) []string {
	known := q.ignored
	for i, weight := range r.idf {
		if weight > 0 {
			known = append(known[:len(known):len(known)], q.terms[q.first[q.terms[i].group]].text)
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(known, w) })
}

// A Correction is a word of a query for which another one was searched.
type Correction struct{ From, To string }

// repairs finds what words are most likely meant to be.
func (d *dictionary) repairs(words []string) (list []Correction, err error) {
	for _, w := range words {
		x, ok, err := d.split(w)
		if err == nil && !ok {
			x, ok, err = d.nearest(w)
		}
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, Correction{w, x})
		}
	}
	return list, nil
}

// nearest finds the word of the vocabulary that an unknown word is most likely
// meant to be: at the least distance, then the most frequent, then by its text.
// Whoever types mostly hits the first letter, or swaps it with the second; where
// nothing is near, that letter alone may be wrong: see otherwise.
func (d *dictionary) nearest(word string) (string, bool, error) {
	s := newSpeller(word)
	var found []spelling // at the distance s.most; if that was lowered, one of them lives
	for _, prefix := range s.beginnings() {
		err := d.words(prefix, func(g *Segment, l *wordlist) error {
			return l.near(s, prefix, func(term []byte, far int) error {
				x := spelling{string(term), g}
				if far < s.most {
					if n, err := d.holders(x); n == 0 || err != nil {
						return err
					}
					if ok, err := d.isWord(x.term); !ok || err != nil {
						return err
					}
					s.most, found = far, found[:0]
				}
				found = append(found, x)
				return nil
			})
		})
		if err != nil {
			return "", false, err
		}
	}
	best, ok, err := d.mostFrequent(found)
	if ok || err != nil || d.firsts == maxFirsts {
		return best, ok, err
	}
	others := otherwise(s.word)
	if len(others) > 0 {
		d.firsts++
	}
	return d.mostFrequent(d.spelled(others))
}

// spelled are words wherever they may be found.
func (d *dictionary) spelled(words []string) (list []spelling) {
	for _, w := range words {
		list = append(list, spelling{w, nil})
		for _, g := range d.view.segments {
			list = append(list, spelling{w, g})
		}
	}
	return list
}

// otherwise is all that a word can be whose first letter is another one, missing or
// too much, where it is long enough that this means something. Words of the Latin
// script are more alike than others.
func otherwise(word []rune) (list []string) {
	at := slices.IndexFunc(scripts[:], func(s script) bool { return s.first <= word[0] && word[0] <= s.last })
	if at < 0 || len(word) < scripts[at].least || !onlyLetters([]byte(string(word))) {
		return nil
	}
	rest := string(word[1:])
	list = append(list, rest)
	for c := scripts[at].first; c <= scripts[at].last; c++ {
		if c != word[0] {
			list = append(list, string(c)+rest)
		}
		list = append(list, string(c)+string(word))
	}
	return list
}

// script is the letters of one in small case, and how many characters the shortest
// word has whose first letter is looked for.
type script struct {
	first, last rune
	least       int
}

var scripts = [...]script{{'a', 'z', 6}, {'α', 'ω', 5}, {'а', 'џ', 5}, {'א', 'ת', 5}, {'ء', 'ي', 5}}

// mostFrequent is the word that most live documents hold, if any does, ties by text.
func (d *dictionary) mostFrequent(found []spelling) (best string, ok bool, err error) {
	dfs := map[string]int{}
	for _, x := range found {
		n, err := d.holders(x)
		if err != nil {
			return "", false, err
		}
		dfs[x.term] += n
	}
	words := slices.SortedFunc(maps.Keys(dfs), func(a, b string) int {
		return cmp.Or(cmp.Compare(dfs[b], dfs[a]), strings.Compare(a, b))
	})
	for _, w := range words {
		if dfs[w] == 0 {
			break
		}
		if ok, err := d.isWord(w); ok || err != nil {
			return w, ok, err
		}
	}
	return "", false, nil
}

// isWord reports whether a term of the index stands in a document as a word. The index
// does not tell words from stems; a term is a word if no known word has it as its stem,
// or if more documents hold it than hold these.
func (d *dictionary) isWord(term string) (bool, error) {
	if beyondASCII(term) || len(term) <= stemChanges {
		return true, nil
	}
	own, err := d.count(term)
	if err != nil {
		return false, err
	}
	inflected := 0
	err = d.each([]string{term[:len(term)-stemChanges]}, func(other []byte, live func() (int, error)) error {
		if !hasStem(other, term) {
			return nil
		}
		n, err := live()
		inflected += n
		return err
	})
	return inflected < own, err
}

// hasStem reports whether a term is the stem of a word that is another one.
func hasStem(word []byte, term string) bool {
	if string(word) == term || len(word) < 3 || len(word) > maxTerm/2 || beyondASCII(word) || !onlyLetters(word) {
		return false
	}
	return string(porter(slices.Clone(word))) == term
}

// speller measures how far terms are from a word: optimal string alignment, the
// restricted distance of Damerau (A technique for computer detection and
// correction of spelling errors, 1964), in characters. Terms that come in order
// share the rows of what they begin with.
type speller struct {
	word    []rune
	letters uint64 // what it is made of
	most    int    // more is not told apart

	seen  []byte               // of the term before, what there are rows of
	rows  [maxTerm + 2][]uint8 // after so many characters of the term, the distance to each beginning of the word
	ends  [maxTerm + 2]int     // where in seen they end
	runes [maxTerm + 2]rune
	depth int
	lost  bool // all that begins so is too far
}

func newSpeller(word string) *speller {
	s := &speller{word: []rune(word), most: 1}
	s.letters, _ = lettersOf([]byte(word))
	if len(s.word) >= twoErrors {
		s.most = mostErrors
	}
	all := make([]uint8, len(s.rows)*(len(s.word)+1))
	for i := range s.rows {
		s.rows[i], all = all[:len(s.word)+1], all[len(s.word)+1:]
	}
	for j := range s.rows[0] {
		s.rows[0][j] = uint8(j)
	}
	return s
}

// beginnings are what a word may begin with that the word is taken for.
func (s *speller) beginnings() []string {
	a, b := s.word[0], s.word[1]
	if a == b {
		return []string{string(a)}
	}
	return []string{string(a), string([]rune{b, a})}
}

// room is in how many bits of lettersOf a term of so many characters may differ.
// Another letter changes two, one missing or too much changes one; negative if the
// length alone is too far.
func (s *speller) room(runes int) int {
	short := len(s.word) - runes
	if short = max(short, -short); short > s.most {
		return -1
	}
	return 2*s.most - short
}

// distance is that of a term to the word, or something above most.
func (s *speller) distance(term []byte) int {
	n := common(s.seen, term)
	if n == len(s.seen) && s.lost {
		return s.most + 1
	}
	for s.ends[s.depth] > n {
		s.depth--
	}
	n = s.ends[s.depth]
	s.lost = false
	for n < len(term) && !s.lost {
		r, size := utf8.DecodeRune(term[n:])
		n += size
		s.lost = s.step(r) > s.most
		s.ends[s.depth] = n
	}
	s.seen = append(s.seen[:0], term[:n]...)
	if s.lost {
		return s.most + 1
	}
	return int(s.rows[s.depth][len(s.word)])
}

// step goes on by a character and returns the least distance that words which
// begin so can have.
func (s *speller) step(r rune) int {
	s.depth++
	s.runes[s.depth] = r
	row, before := s.rows[s.depth], s.rows[s.depth-1]
	row[0] = uint8(s.depth)
	for j, c := range s.word {
		d := before[j]
		if c != r {
			d++
		}
		d = min(d, before[j+1]+1, row[j]+1)
		if j > 0 && s.depth > 1 && r == s.word[j-1] && c == s.runes[s.depth-1] {
			d = min(d, s.rows[s.depth-2][j-1]+1)
		}
		row[j+1] = d
	}
	return int(slices.Min(row))
}

// common is how many bytes two terms begin with alike.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
