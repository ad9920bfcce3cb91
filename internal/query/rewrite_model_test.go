package query

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/analysis/analysistest"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
	"github.com/loci-memory/loci/internal/testenv"
)

// naiveRewrite returns the rewritten query, computed from document frequencies alone.
func (w *modelIndex) naiveRewrite(q Query) Query {
	df := map[string]int{}
	for _, c := range w.live {
		for _, t := range c.Document.Terms {
			df[t.Term]++
		}
	}
	q = w.naiveLanguage(q, df)
	var corrections []Correction
	begun := map[string]*prefixExpansion{}
	doubted, unknown := 0, 0
	for i := 0; i < len(q.terms); i += formCount(q.terms[i:]) {
		head, all := &q.terms[i], q.terms[i:i+formCount(q.terms[i:])]
		known := slices.ContainsFunc(all, func(t queryTerm) bool { return df[t.text] > 0 || df[t.sharedForm] > 0 })
		if known || !mayBeMisspelled(head) || q.isExpandable(head) && naiveExpansion(df, head.text) != nil ||
			unknown == maxCorrections {
			continue
		}
		unknown++
		x := w.naiveWordBreak(head.text)
		if x == "" {
			x = naiveCorrection(df, head.text)
		}
		if x == "" && mayHaveWrongFirstLetter([]rune(head.text)) && doubted < maxFirstLetterLookups {
			x = naiveFirstLetterCorrection(df, head.text)
			doubted++
		}
		if x != "" {
			corrections = append(corrections, Correction{head.text, x})
		} else if utf8.RuneCountInString(head.text) >= minExpandedRunes && analysis.OnlyLetters([]byte(head.text)) {
			if e := wordsOfFamily(df, newUnknownWordExpansion(head.text)); e != nil {
				begun[head.text] = e
			}
		}
	}
	unaccented := naiveUnigrams(df, q)
	if len(corrections) > 0 {
		expandsWords, latin, words := q.expandsWords, q.expandsASCII, map[string]string{}
		for _, c := range corrections {
			words[c.From] = c.To
		}
		q = parse(q.text, words)
		if expandsWords && !q.expandsWords {
			q.weakenStopWords()
		}
		q.expandsWords, q.expandsASCII, q.corrections = expandsWords, latin, corrections
	}
	q = q.withUnigrams(unaccented)
	expansions := begun
	for i := range q.terms {
		if e := naiveExpansion(df, q.terms[i].text); e != nil && q.isExpandable(&q.terms[i]) {
			expansions[q.terms[i].text] = e
		}
	}
	if len(expansions) > 0 {
		q = q.withExpansions(expansions)
	}
	return q
}

// naiveWordBreak returns the two parts of a word with the highest common document frequency.
func (w *modelIndex) naiveWordBreak(word string) (best string) {
	most := 0
	for i := range word {
		a, b, n := word[:i], word[i:], 0
		for _, c := range w.live {
			if indextest.Freq(c.Document, a) > 0 && indextest.Freq(c.Document, b) > 0 {
				n++
			}
		}
		if n > 0 && n >= most && utf8.RuneCountInString(a) >= minFirstPart &&
			utf8.RuneCountInString(b) >= minSecondPart && !analysis.IsStopWord(a) && !analysis.IsStopWord(b) {
			best, most = a+" "+b, n
		}
	}
	return best
}

// naiveLanguage returns the query in the language that the workspace decides.
func (w *modelIndex) naiveLanguage(q Query, df map[string]int) Query {
	other, n := q, 0
	for _, word := range englishMarkers {
		n += df[word]
	}
	other.expandsWords, other.expandsASCII = true, true
	widens := slices.ContainsFunc(q.terms, func(t queryTerm) bool { return other.isExpandable(&t) })
	if q.ambiguousLanguage && widens && len(w.live) >= minLanguageDocs && docsPerEnglishMarker*n < len(w.live) {
		if !q.expandsWords {
			other.weakenStopWords()
		}
		return other
	}
	return q
}

// naiveUnigrams returns the Han and Hangul characters that occur but whose bigrams do not.
func naiveUnigrams(df map[string]int, q Query) (list []string) {
	paired := func(s string) bool {
		return slices.ContainsFunc(q.terms, func(t queryTerm) bool {
			return t.tokenType == analysis.Bigram && df[t.text] > 0 && strings.Contains(t.text, s)
		})
	}
	for _, s := range q.unigrams {
		if _, asked := q.termIndex[s.text]; !asked && df[s.text] > 0 && !paired(s.text) &&
			!slices.Contains(list, s.text) {
			list = append(list, s.text)
		}
	}
	return list
}

func naiveExpansion(df map[string]int, word string) *prefixExpansion {
	return wordsOfFamily(df, newPrefixExpansion(word))
}

func wordsOfFamily(df map[string]int, e *prefixExpansion) *prefixExpansion {
	for w := range df {
		if strings.HasPrefix(w, e.prefix) && utf8.RuneCountInString(w) <= e.maxRunes &&
			analysis.OnlyLetters([]byte(w)) {
			e.terms = append(e.terms, w)
		}
	}
	slices.SortFunc(e.terms, func(a, b string) int { return cmp.Or(df[b]-df[a], strings.Compare(a, b)) })
	e.terms = e.terms[:min(len(e.terms), maxExpansionTerms)]
	for _, w := range e.terms {
		e.docFreq += df[w]
	}
	slices.Sort(e.terms)
	if len(e.terms) == 0 {
		return nil
	}
	return e
}

func naiveCorrection(df map[string]int, word string) string {
	a, best, distance := []rune(word), "", 2
	if len(a) >= 8 {
		distance = 3
	}
	for w, n := range df {
		b := []rune(w)
		swapped := len(b) > 1 && b[0] == a[1] && b[1] == a[0]
		if len(b) < 3 || b[0] != a[0] && !swapped || !analysis.OnlyLetters([]byte(w)) || !naiveIsSurfaceWord(df, w) {
			continue
		}
		if d := analysistest.EditDistance(a, b); d < distance || d == distance && best != "" &&
			cmp.Or(df[best]-n, strings.Compare(w, best)) < 0 {
			best, distance = w, d
		}
	}
	return best
}

func naiveFirstLetterCorrection(df map[string]int, word string) (best string) {
	for w, n := range df {
		if differsInFirstLetter([]rune(word), []rune(w)) && naiveIsSurfaceWord(df, w) &&
			(best == "" || cmp.Or(df[best]-n, strings.Compare(w, best)) < 0) {
			best = w
		}
	}
	return best
}

// naiveIsSurfaceWord reports whether a term is in more documents than the words of which it is the stem.
func naiveIsSurfaceWord(df map[string]int, term string) bool {
	inflected := 0
	for w, n := range df {
		if isStemOf([]byte(w), term) {
			inflected += n
		}
	}
	return analysis.HasNonASCII(term) || inflected < df[term]
}

const latinLetters, cyrillicLetters = "abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџ"

// mayHaveWrongFirstLetter reports a word whose first letter may be wrong.
func mayHaveWrongFirstLetter(a []rune) bool {
	return analysis.OnlyLetters([]byte(string(a))) && (len(a) >= 6 && strings.ContainsRune(latinLetters, a[0]) ||
		len(a) >= 5 && strings.ContainsRune(cyrillicLetters, a[0]))
}

// differsInFirstLetter reports whether two words differ only by a replaced, missing or additional first letter of the
// same script.
func differsInFirstLetter(a, b []rune) bool {
	if len(b) == 0 || !mayHaveWrongFirstLetter(a) {
		return false
	}
	same := strings.ContainsRune(latinLetters, a[0]) && strings.ContainsRune(latinLetters, b[0]) ||
		strings.ContainsRune(cyrillicLetters, a[0]) && strings.ContainsRune(cyrillicLetters, b[0])
	return slices.Equal(a[1:], b) || same && (slices.Equal(a[1:], b[1:]) || slices.Equal(a, b[1:]))
}

var inflected = strings.Fields(`книга книги книгу книгам книжный программа программы программист проект проекта проекты
	éclair éclairs eclair étude études deploy deployed deploys delay where what server servers serve table tables cable
	getUser v1.2 数据库 Straße straßen maßvoll`)

// inflectedText returns inflected words, some of them misspelled.
func inflectedText(r *rand.Rand, n int) string {
	s := ""
	for range n {
		w := []rune(inflected[min(int(r.ExpFloat64()*12), len(inflected)-1)])
		for ; r.IntN(3) == 0 && len(w) > 2; w = slices.Clone(w) {
			if i := r.IntN(len(w) - 1); r.IntN(2) == 0 {
				w[i], w[i+1] = w[i+1], w[i]
			} else {
				w = slices.Delete(w, i, i+1)
			}
		}
		s += string(w) + " "
	}
	return s
}

// randomInflectedStep writes memories, one in english with English words.
func (w *modelIndex) randomInflectedStep(r *rand.Rand, english int) error {
	if r.IntN(3) == 0 && len(w.changes) > 0 {
		return w.randomStep(r)
	}
	for range 1 + r.IntN(6) {
		c := randomUpdate(r)
		if !c.Deleted {
			title := ""
			if r.IntN(english) == 0 {
				title = englishMarkers[r.IntN(len(englishMarkers))] + " "
			}
			c.Document = index.Analyze(title+inflectedText(r, r.IntN(2)), inflectedText(r, r.IntN(25)))
		}
		w.write(c)
	}
	return nil
}

func TestRewriteQueryEqualsNaiveRewrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w, cache, english := newModelIndex(), index.NewCache(1<<16), 2+r.IntN(20)
		for range 15 {
			testenv.NoError(t, w.randomInflectedStep(r, english))
			q, f := Parse(inflectedText(r, 1+r.IntN(5))), randomFilter(r)
			want := w.naiveRewrite(q)
			if got, err := rewriteQuery(w.snapshot, cache, w.Fetch, q); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %v\ngot  %s\nwant %s", q.text, err, formatTerms(got), formatTerms(want))
			}
			words, got, err := Search(w.snapshot, cache, w.Fetch, q, f, 500, 20)
			if err != nil || !reflect.DeepEqual(words, want) ||
				!w.matchesNaive(want, got, w.naiveSearch(want, f, 500, 20)) {
				t.Fatalf("%q: %v\ngot  %+v\nwant %+v", q.text, err, got, w.naiveSearch(want, f, 500, 20))
			}
		}
	})
}
