package secret

import (
	"math"
	"slices"
	"strings"
)

// A kind orders rules: where two hit the same place, the greater one names it.
type kind uint8

const (
	kindGuessed    kind = iota // by the name before it and by its randomness
	kindAssigned               // by the name of a provider before it, and its shape
	kindToken                  // by its own shape
	kindPrivateKey             // a private key
)

// A token says by its own shape what it is.
type tokenPattern struct {
	rule, pattern string
	entropy       float64
}

// An assignment gives a value to a name that holds the keyword and, behind it,
// the word: "*" is any word for a credential, "" needs none.
type assignedPattern struct {
	rule, keyword, word, pattern string
	entropy                      float64
}

// minEntropy is asked of every token: less is a dummy such as 0000 or abab.
const minEntropy = 2

// A findFunc looks at the text at an anchor, and returns where the secret is; to
// is 0 for none. The third argument is where to stop looking.
type findFunc func(s *scanner, i, end int) (from, to int)

// A rule is one way to recognize one kind of credential.
type rule struct {
	name         string
	kind         kind
	find         findFunc
	anchors      []string // in any case; the finder looks itself
	anchorOffset int      // from the anchor to where the finder begins
}

// caseInsensitiveRules are tokens whose fixed pieces have no case of their own.
var caseInsensitiveRules = []string{
	"clojars-api-token", "digitalocean-refresh-token", "grafana-api-key", "grafana-cloud-api-token",
	"grafana-service-account-token", "npm-access-token", "slack-app-token", "slack-config-access-token",
	"slack-config-refresh-token",
}

// rules are all of them; among equals, the first one names a place.
var rules = func() (all []rule) {
	all = append(all, rule{name: "private-key", kind: kindPrivateKey, find: findPEM, anchors: []string{"begin"}})
	all = append(all, rule{name: "putty-private-key", kind: kindPrivateKey, find: findPuTTYKey,
		anchors: []string{"private-lines"}})
	for _, table := range [][]tokenPattern{cloudTokens, codeTokens, messagingTokens, paymentTokens, dataTokens} {
		for _, row := range table {
			all = append(all, row.compile())
		}
	}
	all = append(all,
		rule{name: "jwt", kind: kindToken, find: findJWT, anchors: []string{"eyj"}},
		rule{name: "jwt-base64", kind: kindToken, find: findBase64JWT, anchors: []string{"zxlk"}},
		rule{name: "sentry-org-token", kind: kindToken, find: findSentryOrg, anchors: []string{"sntrys_"}},
		rule{name: "discord-bot-token", kind: kindToken, find: findDiscordBot, anchors: discordIDs()},
		rule{name: "azure-sas-signature", kind: kindToken, find: findSASSignature, anchors: []string{"sig="}},
	)
	for _, row := range assignedValues {
		all = append(all, row.compile())
	}
	return append(all,
		rule{name: "mailgun-api-key", find: findMailgunKey, anchors: []string{"key-"}},
		rule{name: "netrc-password", find: findNetrc, anchors: []string{"machine"}},
		rule{name: "authorization-header", find: findBearer, anchors: []string{"bearer"}},
		rule{name: "authorization-header", find: findAuthorization, anchors: []string{"authorization"}},
		rule{name: "generic-password", find: findPassword, anchors: []string{"pass", "pwd"}},
		rule{name: "generic-api-key", find: findGeneric, anchors: []string{"key", "secret", "token", "passw"}},
		rule{name: "url-password", find: findURLPassword, anchors: []string{"://"}},
	)
}()

// Rules returns the names of all rules, sorted.
func Rules() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (row tokenPattern) compile() rule {
	s := parsePattern(row.pattern)
	f := &tokenFinder{s, s.prefix(), s.alphabetSize(), slices.Contains(caseInsensitiveRules, row.rule),
		max(row.entropy, minEntropy)}
	anchors, back := s.anchor()
	return rule{name: row.rule, kind: kindToken, anchors: anchors, anchorOffset: back, find: f.find}
}

// A tokenFinder is a shape and what is asked of the tokens that have it.
type tokenFinder struct {
	pattern      pattern
	prefix       string
	alphabetSize int
	ignoreCase   bool
	entropy      float64
}

// find finds a token with clear ends, or one between letters that begins with a
// prefix and looks drawn by lot. Of another one right behind a letter it tells
// that it counts only where a secret ends there.
func (f *tokenFinder) find(t *scanner, i, end int) (from, to int) {
	to, last := f.pattern.match(t.text, i, end, f.ignoreCase)
	if to == 0 {
		return 0, 0
	}
	needs, closed := f.mustReach(t.text[:i]), isTokenEnd(t.text, last, to, end)
	if f.pattern.isVariableLength() {
		to = f.trimMarks(t.text, i, to)
	}
	if f.prefix == "" && (!closed || startsBase64Run(t.text[to:end])) || !isPlausible(t.text[i:to], f.entropy) {
		return 0, 0
	}
	if f.prefix != "" && (needs > 0 || !closed) {
		random := f.looksRandom(t.text[i+len(f.prefix) : to])
		if !closed && !random {
			return 0, 0
		}
		if random && needs == i {
			needs = base64RunStart(t.text[:i], b64all)
		}
	}
	t.mustReach = needs
	return i, to
}

// mustReach returns where a secret must end for a token right of the text to count,
// or 0 for anywhere.
func (f *tokenFinder) mustReach(text string) int {
	switch {
	case !isTokenStart(text, len(text)):
		return len(text)
	case f.prefix == "":
		return base64RunStart(text, b64)
	}
	return 0
}

// trimMarks leaves to the text what stands around the token, if a token is left.
func (f *tokenFinder) trimMarks(text string, from, to int) int {
	if n := trimMarks(text, from, to); n < to {
		if m, _ := f.pattern.match(text, from, n, f.ignoreCase); m > 0 {
			return m
		}
	}
	return to
}

// looksRandom reports whether the bytes behind a prefix look drawn by lot: nearly as
// many letters in turn as chance would have.
func (f *tokenFinder) looksRandom(body string) bool {
	const chance = 0.9
	return looksRandom(body) || entropy(body) >= chance*math.Log2(float64(min(len(body), f.alphabetSize)))
}

func (row assignedPattern) compile() rule {
	s, minimum := parsePattern(row.pattern), max(row.entropy, minEntropy)
	hasLiteral := s[0].literal != ""
	return rule{name: row.rule, kind: kindAssigned, anchors: []string{row.keyword},
		find: func(t *scanner, i, end int) (from, to int) {
			from = t.valueStart(i, row.keyword, row.word, end)
			if from == 0 {
				return 0, 0
			}
			to, last := s.match(t.text, from, end, true)
			if to == 0 || last != 0 && !isTokenEnd(t.text, last|word, to, end) ||
				!isPlausible(t.text[from:to], minimum) || !hasLiteral &&
				!strings.ContainsAny(t.text[from:to], "0123456789") {
				return 0, 0
			}
			return from, to
		}}
}

// isPlausible reports whether a token may be real: random enough, no dummy.
func isPlausible(text string, minimum float64) bool {
	return entropy(text) >= minimum && !isPlaceholder(text)
}
