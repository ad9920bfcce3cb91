package analysis

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// First letters of words that are also written without their prefix. In Arabic it is the article with prepositions, in
// Hebrew the article and particles.
const (
	arabicPrefixLetters = "اوبكفل"
	hebrewPrefixLetters = "הובלשכמ"
)

// arabicArticles are the article and the prepositions before it. These and "and" are the prefixes of light10 (Larkey,
// Ballesteros and Connell, Improving stemming for Arabic information retrieval, SIGIR 2002).
var (
	arabicArticles    = [...][]byte{[]byte("ال"), []byte("بال"), []byte("كال"), []byte("فال"), []byte("لل")}
	arabicConjunction = []byte("و")
	hebrewArticle     = []byte("ה")
)

// Letters that must remain behind an Arabic article, and behind any other prefix.
const (
	minAfterArticle  = 2
	minAfterParticle = 3
)

// stripPrefix returns a word without accents and without its prefix, or nil. Many Persian and Urdu words only seem to
// have a prefix. That costs little: they are indexed whole too, and the rest is hardly ever another word.
func stripPrefix(word []byte) []byte {
	r, n := utf8.DecodeRune(word)
	switch {
	case r < 'א' || r > 'ي' || len(word) > MaxTermBytes:
		return nil
	case strings.ContainsRune(arabicPrefixLetters, r):
		return StripArabicPrefix(word)
	case !strings.ContainsRune(hebrewPrefixLetters, r):
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

// StripArabicPrefix returns an Arabic word without conjunction and article, or nil.
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
