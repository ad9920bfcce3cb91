package analysis

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// The letters with which a word may begin that is written without them too: of
// Arabic the article and what goes with it, of Hebrew the article and particles.
const (
	arabicPrefix = "اوبكفل"
	hebrewPrefix = "הובלשכמ"
)

// arabicArticles are the article and the prepositions before it. They and "and" are
// what light10 takes away at the beginning of words: Larkey, Ballesteros, Connell,
// Improving stemming for Arabic information retrieval, SIGIR 2002.
var (
	arabicArticles    = [...][]byte{[]byte("ال"), []byte("بال"), []byte("كال"), []byte("فال"), []byte("لل")}
	arabicConjunction = []byte("و")
	hebrewArticle     = []byte("ה")
)

// How many letters an Arabic article leaves at least, and any other prefix.
const (
	minAfterArticle  = 2
	minAfterParticle = 3
)

// stripPrefix is what a word without accents is behind its prefix, nil where it has
// none. A word that only looks so loses little, as many of Persian and Urdu do: it
// stays, and what is beside it is hardly ever another word.
func stripPrefix(word []byte) []byte {
	r, n := utf8.DecodeRune(word)
	switch {
	case r < 'א' || r > 'ي' || len(word) > MaxTermBytes:
		return nil
	case strings.ContainsRune(arabicPrefix, r):
		return StripArabicPrefix(word)
	case !strings.ContainsRune(hebrewPrefix, r):
		return nil
	}
	rest := word[n:]
	if noun, ok := bytes.CutPrefix(rest, hebrewArticle); ok && r != 'ה' && utf8.RuneCount(noun) >= minAfterParticle {
		return noun
	}
	if utf8.RuneCount(rest) < minAfterParticle {
		return nil
	}
	return rest
}

func StripArabicPrefix(word []byte) []byte {
	rest, and := bytes.CutPrefix(word, arabicConjunction)
	for _, a := range arabicArticles {
		if noun, ok := bytes.CutPrefix(rest, a); ok && utf8.RuneCount(noun) >= minAfterArticle {
			return noun
		}
	}
	if !and || utf8.RuneCount(rest) < minAfterParticle {
		return nil
	}
	return rest
}
