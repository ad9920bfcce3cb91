package secret

import "strings"

// qualified are the words before "key" and "token" that make a credential of
// them: a key alone may be one of a map, a token one of a page.
var qualified = []string{
	"api", "secret", "access", "private", "auth", "signing", "encryption", "master", "service", "account", "refresh", "bearer", "bot", "personal", "client",
}

const (
	leastGeneric   = 16
	mostGeneric    = 128
	genericEntropy = 3.5
)

// generic finds a long random value assigned to a name that ends in api_key,
// secret, access_token, password and the like.
func generic(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	name := s.nameEnd(text, i)
	if name == 0 || name < end && classes[text[name]]&dash != 0 {
		return 0, 0
	}
	from = after(text, name, signs...)
	if from == 0 {
		return 0, 0
	}
	to = padding(text, run(text, b64all|dot, from, min(end, from+mostGeneric+1)))
	if n := to - from; n < leastGeneric || n > mostGeneric || !ends(text, to) || !plausible(text[from:to], genericEntropy) || !scattered(text[from:to]) {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(text[from:to], marks))
}

// nameEnd is where the word at i ends that makes a name one of a credential, 0
// for another word.
func (s *scanner) nameEnd(text string, i int) int {
	for _, w := range []string{"password", "passwd", "secret"} {
		if hasFold(text, i, w) {
			s.ask(i, begins(text, i))
			return i + len(w)
		}
	}
	for _, w := range []string{"token", "key"} {
		if hasFold(text, i, w) && qualifies(text[:i]) {
			return i + len(w)
		}
	}
	return 0
}

// qualifies reports whether a text ends in one of the qualified words.
func qualifies(text string) bool {
	if n := len(text); n > 0 && strings.IndexByte("_-. ", text[n-1]) >= 0 {
		text = text[:n-1]
	}
	for _, w := range qualified {
		if at := len(text) - len(w); at >= 0 && hasFold(text, at, w) {
			return true
		}
	}
	return false
}

// ends reports whether a value ends at i: calls, indexes and paths go on.
func ends(text string, i int) bool {
	return i == len(text) || text[i] >= 0x80 || classes[text[i]]&blank != 0 || strings.IndexByte("\"'`;,\\)}]<>&*~?!", text[i]) >= 0
}

// scattered reports whether a value looks drawn by lot: somewhere between its
// dots, dashes and slashes is a long piece in which digits and letters, or
// digits and letters of both cases, take turns. Names with a number, dates,
// versions and UUIDs have none.
func scattered(value string) bool {
	const few = 3
	for i := 0; i < len(value); i++ {
		n := run(value, alnum, i, len(value))
		if piece := value[i:n]; n-i >= leastGeneric && bytesOf(piece, digit) > 0 && (turns(piece, digit) >= few || turns(piece, digit|low) >= len(piece)/2) {
			return true
		}
		i = n
	}
	return false
}

// turns counts where the bytes change in their membership of some classes.
func turns(text string, c class) (n int) {
	for i := 1; i < len(text); i++ {
		if (classes[text[i]]^classes[text[i-1]])&c != 0 {
			n++
		}
	}
	return n
}
