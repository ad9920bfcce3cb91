package search

import (
	"cmp"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// adapted is what Adapt shall give, from nothing but how many memories hold what.
func (w *workspace) adapted(q Query) Query {
	df := map[string]int{}
	for _, c := range w.truth {
		for _, t := range c.Document.terms {
			df[t.text]++
		}
	}
	q = w.settled(q, df)
	var repairs []Correction
	begun := map[string]*family{}
	doubted, unknown := 0, 0
	for i := 0; i < len(q.terms); i += forms(q.terms[i:]) {
		head, all := &q.terms[i], q.terms[i:i+forms(q.terms[i:])]
		known := slices.ContainsFunc(all, func(t queryTerm) bool { return df[t.text] > 0 })
		if known || !mayRepair(head) || q.hasFamily(head) && familyOf(df, head.text) != nil || unknown == maxRepairs {
			continue
		}
		unknown++
		x := w.parts(head.text)
		if x == "" {
			x = meant(df, head.text)
		}
		if x == "" && doubtful([]rune(head.text)) && doubted < maxFirsts {
			x = meantOtherwise(df, head.text)
			doubted++
		}
		if x != "" {
			repairs = append(repairs, Correction{head.text, x})
		} else if utf8.RuneCountInString(head.text) >= familyWord && onlyLetters([]byte(head.text)) {
			if k := wordsOfFamily(df, newBeginning(head.text)); k != nil {
				begun[head.text] = k
			}
		}
	}
	bare := bareOf(df, q)
	if len(repairs) > 0 {
		foreign, latin := q.foreign, q.latin
		q = parse(q.text, standIns(repairs))
		if foreign && !q.foreign {
			q.damp()
		}
		q.foreign, q.latin, q.corrected = foreign, latin, repairs
	}
	q = q.withGlyphs(bare)
	families := begun
	for i := range q.terms {
		if k := familyOf(df, q.terms[i].text); k != nil && q.hasFamily(&q.terms[i]) {
			families[q.terms[i].text] = k
		}
	}
	if len(families) > 0 {
		q = q.withFamilies(families)
	}
	return q
}

// parts are the two words that a word is in most memories.
func (w *workspace) parts(word string) (best string) {
	most := 0
	for i := range word {
		a, b, n := word[:i], word[i:], 0
		for _, c := range w.truth {
			if c.Document.freq(a) > 0 && c.Document.freq(b) > 0 {
				n++
			}
		}
		if n > 0 && n >= most && utf8.RuneCountInString(a) >= leastFirst && utf8.RuneCountInString(b) >= leastSecond && !stopWords[a] && !stopWords[b] {
			best, most = a+" "+b, n
		}
	}
	return best
}

// settled is the query in the language that it is of in this workspace.
func (w *workspace) settled(q Query, df map[string]int) Query {
	other, n := q, 0
	for _, word := range englishAlone {
		n += df[word]
	}
	other.foreign, other.latin = true, true
	widens := slices.ContainsFunc(q.terms, func(t queryTerm) bool { return other.hasFamily(&t) })
	if q.open && widens && len(w.truth) >= leastTold && englishOnce*n < len(w.truth) {
		other.damp()
		return other
	}
	return q
}

// bareOf are the Han characters and syllables of Hangul that the memories hold, but
// in no pair of those asked for.
func bareOf(df map[string]int, q Query) (list []string) {
	paired := func(s string) bool {
		return slices.ContainsFunc(q.terms, func(t queryTerm) bool {
			return t.role == gram && df[t.text] > 0 && strings.Contains(t.text, s)
		})
	}
	for _, s := range q.glyphs {
		if df[s.text] > 0 && !paired(s.text) && !slices.Contains(list, s.text) {
			list = append(list, s.text)
		}
	}
	return list
}

func familyOf(df map[string]int, word string) *family {
	return wordsOfFamily(df, newFamily(word))
}

func wordsOfFamily(df map[string]int, k *family) *family {
	for w := range df {
		if strings.HasPrefix(w, k.prefix) && utf8.RuneCountInString(w) <= k.runes && onlyLetters([]byte(w)) {
			k.words = append(k.words, w)
		}
	}
	slices.SortFunc(k.words, func(a, b string) int { return cmp.Or(df[b]-df[a], strings.Compare(a, b)) })
	k.words = k.words[:min(len(k.words), familyWords)]
	for _, w := range k.words {
		k.held += df[w]
	}
	slices.Sort(k.words)
	if len(k.words) == 0 {
		return nil
	}
	return k
}

func meant(df map[string]int, word string) string {
	a, best, far := []rune(word), "", 2
	if len(a) >= twoErrors {
		far = 3
	}
	for w, n := range df {
		b := []rune(w)
		swapped := len(b) > 1 && b[0] == a[1] && b[1] == a[0]
		if len(b) < shortestRepair || b[0] != a[0] && !swapped || !onlyLetters([]byte(w)) || !standsAsWord(df, w) {
			continue
		}
		if d := alignment(a, b); d < far || d == far && best != "" && cmp.Or(df[best]-n, strings.Compare(w, best)) < 0 {
			best, far = w, d
		}
	}
	return best
}

func meantOtherwise(df map[string]int, word string) (best string) {
	for w, n := range df {
		if otherFirst([]rune(word), []rune(w)) && standsAsWord(df, w) && (best == "" || cmp.Or(df[best]-n, strings.Compare(w, best)) < 0) {
			best = w
		}
	}
	return best
}

// standsAsWord reports a term that more memories hold than words of which it is the stem.
func standsAsWord(df map[string]int, term string) bool {
	inflected := 0
	for w, n := range df {
		if hasStem([]byte(w), term) {
			inflected += n
		}
	}
	return beyondASCII(term) || inflected < df[term]
}

const latinLetters, cyrillicLetters = "abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюяѐёђѓєѕіїјљњћќѝўџ"

// doubtful reports a word whose first letter may be wrong.
func doubtful(a []rune) bool {
	return onlyLetters([]byte(string(a))) && (len(a) >= 6 && strings.ContainsRune(latinLetters, a[0]) || len(a) >= 5 && strings.ContainsRune(cyrillicLetters, a[0]))
}

// otherFirst reports that a word becomes another one by its first letter, which is
// of the same script as the first of the other one, alone.
func otherFirst(a, b []rune) bool {
	if len(b) == 0 || !doubtful(a) {
		return false
	}
	same := strings.ContainsRune(latinLetters, a[0]) && strings.ContainsRune(latinLetters, b[0]) ||
		strings.ContainsRune(cyrillicLetters, a[0]) && strings.ContainsRune(cyrillicLetters, b[0])
	return slices.Equal(a[1:], b) || same && (slices.Equal(a[1:], b[1:]) || slices.Equal(a, b[1:]))
}

// alignment is the optimal string alignment distance by its definition.
func alignment(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			last := 1
			if a[i-1] == b[j-1] {
				last = 0
			}
			d[i][j] = min(d[i-1][j-1]+last, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

var inflected = strings.Fields(`книга книги книгу книгам книжный программа программы программист проект проекта проекты
	éclair éclairs eclair étude études deploy deployed deploys delay where what server servers serve table tables cable
	getUser v1.2 数据库 Straße straßen maßvoll`)

// inflectedText has words of families, some of them misspelled.
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

// actInflected writes memories of which as many as one in so many hold English words.
func (w *workspace) actInflected(r *rand.Rand, english int) error {
	if r.IntN(3) == 0 && len(w.changes) > 0 {
		return w.act(r)
	}
	for range 1 + r.IntN(6) {
		c := someChange(r)
		if !c.Gone {
			title := ""
			if r.IntN(english) == 0 {
				title = englishAlone[r.IntN(len(englishAlone))] + " "
			}
			c.Document = Analyze(title+inflectedText(r, r.IntN(2)), inflectedText(r, r.IntN(25)))
		}
		w.write(c)
	}
	return nil
}

func TestAdaptedQueriesEqualNaiveOnes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w, cache, english := newWorkspace(), NewCache(1<<16), 2+r.IntN(20)
		for range 15 {
			if err := w.actInflected(r, english); err != nil {
				t.Fatal(err)
			}
			q, f := Parse(inflectedText(r, 1+r.IntN(5))), someFilter(r)
			want := w.adapted(q)
			if got, err := w.view.Adapt(cache, w.fetch, q); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %v\ngot  %s\nwant %s", q.text, err, spelled(got), spelled(want))
			}
			words, got, err := w.view.Answer(cache, w.fetch, q, f, 500, 20)
			if err != nil || !reflect.DeepEqual(words, want) || !w.agrees(want, got, w.naive(want, f, 500, 20)) {
				t.Fatalf("%q: %v\ngot  %+v\nwant %+v", q.text, err, got, w.naive(want, f, 500, 20))
			}
		}
	})
}
