// Package corpus has the notes and queries of the benchmarks: the same ones in every run.
package corpus

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Corpus is the source of notes and questions. Sentences and questions are from real datasets, or invented
// without them.
type Corpus struct {
	Origin    string // of the texts, for the report
	sentences []string
	words     []string // every word of the sentences, with repetitions
	Questions []string // of 8 to 12 words
	rare      []string // invented words, for rare names and numbers
	common    []string // the most frequent longer words
}

// Version changes whenever the same number gives another note.
const Version = "2"

// Read reads English sets of documents and questions below dir.
func Read(dir string) (*Corpus, error) {
	t := &Corpus{Origin: "sentences and questions of docs, xquad-en and locomo-sessions, words as frequent as there, " +
		"and invented ones"}
	for _, set := range []string{"docs", "xquad-en", "locomo-sessions"} {
		err := readLines(filepath.Join(dir, set, "docs.jsonl"), func(text string) { t.addDocument(text) })
		if err == nil {
			err = readLines(filepath.Join(dir, set, "queries.jsonl"), t.addQuestion)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	t.rare = inventWords(rand.New(rand.NewPCG(1, 1)), 120_000)
	if len(t.sentences) == 0 {
		t.inventSentences()
	}
	t.common = mostFrequent(t.words, 40)
	return t, nil
}

// mostFrequent returns the n most frequent words of five letters and more in a list.
func mostFrequent(words []string, n int) []string {
	times := map[string]int{}
	for _, w := range words {
		if w = strings.ToLower(strings.Trim(w, ".,;:()?!\"'`")); len(w) >= 5 {
			times[w]++
		}
	}
	list := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(times[b]-times[a], strings.Compare(a, b))
	})
	return list[:min(n, len(list))]
}

// readLines calls f with the text of every line of a file of JSON lines.
func readLines(path string, f func(text string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		f(l.Text)
	}
	return lines.Err()
}

// addDocument splits a document into sentences, approximately.
func (t *Corpus) addDocument(text string) {
	text = strings.Join(strings.Fields(text), " ")
	for _, s := range strings.SplitAfter(text, ". ") {
		if s = strings.TrimSpace(s); len(s) >= 20 && len(s) <= 300 {
			t.sentences = append(t.sentences, s)
			t.words = append(t.words, strings.Fields(s)...)
		}
	}
}

func (t *Corpus) addQuestion(text string) {
	if n := len(strings.Fields(text)); n >= 8 && n <= 12 {
		t.Questions = append(t.Questions, text)
	}
}

// inventWords returns invented words.
func inventWords(r *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		w := make([]byte, 3+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgk"[r.IntN(22)]
		}
		list[i] = string(w)
	}
	return list
}

// inventSentences invents questions, and sentences whose words follow Zipf's
// law.
func (t *Corpus) inventSentences() {
	t.Origin = "invented words by Zipf's law: ../shared/data/retrieval is not here"
	r := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(r, 1.07, 8, uint64(len(t.rare)-1))
	sentence := func(n int) string {
		words := make([]string, n)
		for i := range words {
			words[i] = t.rare[z.Uint64()]
		}
		return strings.Join(words, " ")
	}
	for range 10_000 {
		t.addDocument(sentence(8+r.IntN(12)) + ".")
	}
	for range 1000 {
		t.Questions = append(t.Questions, sentence(8+r.IntN(5))+"?")
	}
}

// newRand returns the random source of the object with that number: the same in
// every run, and in any order of creation.
func newRand(kind, i int) *rand.Rand { return rand.New(rand.NewPCG(uint64(kind), uint64(i))) }

// Rand returns the random source of read number i.
func Rand(i int) *rand.Rand { return newRand(seedReads, i) }

// Kinds of randomness.
const (
	seedNotes = iota
	seedProse
	seedPairs
	seedQuestions
	seedReads
	seedFrequent
)

// Note returns a note of about 470 bytes: real sentences, then words of the
// same frequencies, every 25th of them rare.
func (t *Corpus) Note(i int) string {
	r := newRand(seedNotes, i)
	size := 290 + r.IntN(360)
	var b strings.Builder
	for b.Len() < size*2/5 {
		b.WriteString(t.sentences[r.IntN(len(t.sentences))])
		b.WriteByte(' ')
	}
	z := rand.NewZipf(r, 1.07, 8, uint64(len(t.rare)-1))
	for b.Len() < size {
		if r.IntN(25) == 0 {
			b.WriteString(t.rare[z.Uint64()])
		} else {
			b.WriteString(t.words[r.IntN(len(t.words))])
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// Chunk returns a text of one chunk.
func (t *Corpus) Chunk(i int) string {
	words := strings.Fields(t.Note(i))
	return strings.Join(words[:min(80, len(words))], " ")
}

// Prose returns 700 bytes of sentences, different for every number.
func (t *Corpus) Prose(i int) string {
	r := newRand(seedProse, i)
	var b strings.Builder
	for b.Len() < 700 {
		b.WriteString(t.sentences[r.IntN(len(t.sentences))])
		b.WriteByte(' ')
	}
	return strings.ToValidUTF8(b.String()[:690], "") + " #" + t.rare[i%len(t.rare)]
}

// Question returns a question of 8 to 12 words.
func (t *Corpus) Question(i int) string {
	return t.Questions[newRand(seedQuestions, i).IntN(len(t.Questions))]
}

// FrequentPair returns two words of very many notes.
func (t *Corpus) FrequentPair(i int) string {
	r := newRand(seedFrequent, i)
	return t.common[r.IntN(len(t.common))] + " " + t.common[r.IntN(len(t.common))]
}

// WordPair returns the two most significant words of a question.
func (t *Corpus) WordPair(i int) string {
	for r := newRand(seedPairs, i); ; {
		words := strings.Fields(strings.Trim(t.Questions[r.IntN(len(t.Questions))], "?"))
		var long []string
		for _, w := range words {
			if len(w) >= 5 {
				long = append(long, w)
			}
		}
		if len(long) >= 2 {
			return long[len(long)-2] + " " + long[len(long)-1]
		}
	}
}
