package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A corpus is the source of notes and questions, the same ones in every run. Sentences and questions are from real
// datasets, or invented without them.
type corpus struct {
	origin    string // of the texts, for the report
	sentences []string
	words     []string // every word of the sentences, with repetitions
	questions []string // of 8 to 12 words
	rare      []string // invented words, for rare names and numbers
}

// corpusVersion changes whenever the same number gives another note.
const corpusVersion = "2"

// readCorpus reads English sets of documents and questions below dir. One that is missing is left out.
func readCorpus(dir string) (*corpus, error) {
	t := &corpus{origin: "sentences and questions of docs, xquad-en and locomo-sessions, words as frequent as there, " +
		"and invented ones"}
	for _, set := range []string{"docs", "xquad-en", "locomo-sessions"} {
		err := readLines(filepath.Join(dir, set, "docs.jsonl"), t.addDocument)
		if err == nil {
			err = readLines(filepath.Join(dir, set, "queries.jsonl"), func(text string) {
				if n := len(strings.Fields(text)); n >= 8 && n <= 12 {
					t.questions = append(t.questions, text)
				}
			})
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 120_000 {
		w := make([]byte, 3+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgk"[r.IntN(22)]
		}
		t.rare = append(t.rare, string(w))
	}
	if len(t.sentences) == 0 {
		t.inventSentences()
	}
	return t, nil
}

// readLines calls f with the text of every line of a file of JSON lines.
func readLines(path string, f func(text string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for d := json.NewDecoder(file); ; {
		var l struct{ Text string }
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		f(l.Text)
	}
}

// addDocument splits a document into sentences, approximately.
func (t *corpus) addDocument(text string) {
	for _, s := range strings.SplitAfter(strings.Join(strings.Fields(text), " "), ". ") {
		if s = strings.TrimSpace(s); len(s) >= 20 && len(s) <= 300 {
			t.sentences = append(t.sentences, s)
			t.words = append(t.words, strings.Fields(s)...)
		}
	}
}

// inventSentences invents questions, and sentences whose words follow Zipf's law.
func (t *corpus) inventSentences() {
	t.origin = "invented words by Zipf's law: ../shared/data/retrieval is not here"
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
		t.questions = append(t.questions, sentence(8+r.IntN(5))+"?")
	}
}

// newRand returns the random source of the object with that number: the same in every run, in any order of creation.
func newRand(kind, i int) *rand.Rand { return rand.New(rand.NewPCG(uint64(kind), uint64(i))) }

// Kinds of randomness.
const (
	seedNotes = iota
	seedProse
	seedPairs
	seedQuestions
	seedReads
)

// note returns a note of about 470 bytes: real sentences, then words of the same frequencies, every 25th of them rare.
func (t *corpus) note(i int) string {
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

// chunk returns a text of one chunk.
func (t *corpus) chunk(i int) string {
	words := strings.Fields(t.note(i))
	return strings.Join(words[:min(80, len(words))], " ")
}

// prose returns 700 bytes of sentences, different for every number.
func (t *corpus) prose(i int) string {
	r := newRand(seedProse, i)
	var b strings.Builder
	for b.Len() < 700 {
		b.WriteString(t.sentences[r.IntN(len(t.sentences))])
		b.WriteByte(' ')
	}
	return strings.ToValidUTF8(b.String()[:690], "") + " #" + t.rare[i%len(t.rare)]
}

// question returns a question of 8 to 12 words.
func (t *corpus) question(i int) string {
	return t.questions[newRand(seedQuestions, i).IntN(len(t.questions))]
}

// wordPair returns the two most significant words of a question.
func (t *corpus) wordPair(i int) string {
	for r := newRand(seedPairs, i); ; {
		long := slices.DeleteFunc(strings.Fields(strings.Trim(t.questions[r.IntN(len(t.questions))], "?")),
			func(w string) bool { return len(w) < 5 })
		if len(long) >= 2 {
			return long[len(long)-2] + " " + long[len(long)-1]
		}
	}
}
