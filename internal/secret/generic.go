package secret

import "strings"

// qualified are the words before "key" that make a credential of it: a key
// alone may be one of a map.
var qualified = []string{
	"api", "secret", "access", "private", "auth", "signing", "encryption", "master", "service", "account", "refresh", "bearer", "bot", "personal", "client",
}

// positions are the words before "token" that make a place in a list of it.
var positions = []string{"page", "next", "continuation", "cursor", "sync", "resume"}

const (
	leastGeneric   = 16
	mostGeneric    = 128
	genericEntropy = 3.5
	hexEntropy     = 3 // of hexadecimal digits, which have at most 4
)

// generic finds a long random value assigned to a name that ends in api_key,
// secret, token, password and the like.
func generic(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	name := s.nameEnd(text, i)
	if name == 0 || name < end && classes[text[name]]&dash != 0 {
		return 0, 0
	}
	from, to = plainValue(text, name)
	if !hasFold(text, i, "passw") { // else the rule generic-password finds them
		from, to = longer(text, from, to, name, leastGeneric)
	}
	return from, to
}

// longer returns the value with symbols instead of the plain one from from to
// to, if it goes on with more than marks of the text.
func longer(text string, from, to, name, least int) (start, stop int) {
	start, stop = symbolValue(text, name, least)
	quoted := stop < len(text) && strings.IndexByte("\\\"'`", text[stop]) >= 0
	if stop <= to || to > 0 && !quoted && bytesOf(text[to:stop], alnum) == 0 {
		return from, to
	}
	return start, stop
}

// plainValue finds a value of letters, digits and the marks of base64.
func plainValue(text string, name int) (from, to int) {
	if from = after(text, name, signs...); from == 0 {
		v, ok := valueAfter(text, name)
		if !ok {
			return 0, 0
		}
		from = v.from
	}
	to = padding(text, run(text, b64all|dot, from, min(len(text), from+mostGeneric+1)))
	if n := to - from; n < leastGeneric || n > mostGeneric || !ends(text, to) {
		return 0, 0
	}
	piece, least := text[from:to], genericEntropy
	if bytesOf(piece, hexes) == len(piece) {
		least = hexEntropy
	}
	if !plausible(piece, least) || !scattered(piece) && !shuffled(piece, leastGeneric) && !isUUID(piece) {
		return 0, 0
	}
	return from, from + len(strings.TrimRight(piece, marks))
}

// symbolValue finds a value of any printable bytes that look drawn by lot.
func symbolValue(text string, name, least int) (from, to int) {
	const leastEntropy = 2.9
	v, ok := valueAfter(text, name)
	if !ok || v.to-v.from < least || v.to-v.from > mostGeneric {
		return 0, 0
	}
	if whole := text[v.from:v.to]; !shuffled(whole, least) || !plausible(whole, leastEntropy) || isReference(text, v) {
		return 0, 0
	}
	return v.from, v.to
}

// isUUID reports whether a value is a UUID, which some providers take for keys.
func isUUID(text string) bool {
	to, _ := uuidShape.match(text, 0, len(text), false)
	return to == len(text)
}

var uuidShape = parse(uuid)

// leastPassword is the least length of a password that looks drawn by lot.
const leastPassword = 10

// password finds a random value of any printable bytes assigned to a name that
// ends in password, pass, pwd and the like. One that looks like an API key is
// left to that rule.
func password(s *scanner, i, end int) (from, to int) {
	text := s.text[:end]
	name := 0
	for _, w := range []string{"password", "passphrase", "passwd", "passwort", "passcode", "pass", "pwd"} {
		if hasFold(text, i, w) {
			name = i + len(w)
			break
		}
	}
	if name == 0 || name < end && classes[text[name]]&dash != 0 || isVerdict(text, i) {
		return 0, 0
	}
	s.ask(i, name-i > len("pass") || begins(text, i))
	from, to = plainValue(text, name)
	start, stop := longer(text, from, to, name, leastPassword)
	if stop == to && s.nameEnd(text, i) > 0 {
		return 0, 0
	}
	return start, stop
}

// isVerdict reports whether the word at i is the result of a test in Go.
func isVerdict(text string, i int) bool {
	return strings.HasPrefix(text[i:], "PASS: ") && (i == 0 || classes[text[i-1]]&blank != 0)
}

// nameEnd is where the word at i ends that makes a name one of a credential, 0
// for another word.
func (s *scanner) nameEnd(text string, i int) int {
	for _, w := range []string{"password", "passwd", "secret"} {
		if hasFold(text, i, w) {
			s.ask(i, w != "secret" || begins(text, i))
			return i + len(w)
		}
	}
	if hasFold(text, i, "key") && qualifies(text[:i], qualified) {
		return i + len("key")
	}
	if hasFold(text, i, "token") && !qualifies(text[:i], positions) {
		s.ask(i, begins(text, i) || qualifies(text[:i], qualified))
		return i + len("token")
	}
	return 0
}

// qualifies reports whether a text ends in one of the words.
func qualifies(text string, words []string) bool {
	if n := len(text); n > 0 && strings.IndexByte("_-. ", text[n-1]) >= 0 {
		text = text[:n-1]
	}
	for _, w := range words {
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
