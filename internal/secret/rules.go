package secret

import (
	"math"
	"slices"
	"strings"
)

// A kind orders rules: where two hit the same place, the greater one names it.
type kind uint8

const (
	guessed  kind = iota // by the name before it and by its randomness
	assigned             // by the name of a provider before it, and its shape
	token                // by its own shape
	key                  // a private key
)

// A token says by its own shape what it is.
type tokenRow struct {
	rule, format string
	entropy      float64
}

// An assignment gives a value to a name that holds the keyword and, behind it,
// the word: "*" is any word for a credential, "" needs none.
type assignedRow struct {
	rule, keyword, word, format string
	entropy                     float64
}

// leastEntropy is asked of every token: less is a dummy such as 0000 or abab.
const leastEntropy = 2

// A finder looks at the text at an anchor, and returns where the secret is; to
// is 0 for none. The third argument is where to stop looking.
type finder func(s *scanner, i, end int) (from, to int)

// A rule is one way to recognize one kind of credential.
type rule struct {
	name    string
	kind    kind
	find    finder
	anchors []string // in any case; the finder looks itself
	back    int      // from the anchor to where the finder begins
}

// foldedRules are tokens whose fixed pieces have no case of their own.
var foldedRules = []string{
	"clojars-api-token", "digitalocean-refresh-token", "grafana-api-key", "grafana-cloud-api-token",
	"grafana-service-account-token", "npm-access-token", "slack-app-token", "slack-config-access-token", "slack-config-refresh-token",
}

// rules are all of them; among equals, the first one names a place.
var rules = func() (all []rule) {
	all = append(all, rule{name: "private-key", kind: key, find: pem, anchors: []string{"begin"}})
	all = append(all, rule{name: "putty-private-key", kind: key, find: putty, anchors: []string{"private-lines"}})
	for _, table := range [][]tokenRow{cloudTokens, codeTokens, messageTokens, moneyTokens, dataTokens} {
		for _, row := range table {
			all = append(all, row.compile())
		}
	}
	all = append(all,
		rule{name: "jwt", kind: token, find: jwt, anchors: []string{"eyj"}},
		rule{name: "jwt-base64", kind: token, find: jwtTwice, anchors: []string{"zxlk"}},
		rule{name: "sentry-org-token", kind: token, find: sentryOrg, anchors: []string{"sntrys_"}},
		rule{name: "discord-bot-token", kind: token, find: discordBot, anchors: discordIDs()},
		rule{name: "azure-sas-signature", kind: token, find: sasSignature, anchors: []string{"sig="}},
	)
	for _, row := range assignedValues {
		all = append(all, row.compile())
	}
	return append(all,
		rule{name: "mailgun-api-key", find: mailgunKey, anchors: []string{"key-"}},
		rule{name: "netrc-password", find: netrc, anchors: []string{"machine"}},
		rule{name: "authorization-header", find: bearer, anchors: []string{"bearer"}},
		rule{name: "authorization-header", find: authorization, anchors: []string{"authorization"}},
		rule{name: "generic-password", find: password, anchors: []string{"pass", "pwd"}},
		rule{name: "generic-api-key", find: generic, anchors: []string{"key", "secret", "token", "passw"}},
		rule{name: "url-password", find: urlPassword, anchors: []string{"://"}},
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

func (row tokenRow) compile() rule {
	s := parse(row.format)
	f := &format{s, s.prefix(), s.letters(), slices.Contains(foldedRules, row.rule), max(row.entropy, leastEntropy)}
	anchors, back := s.anchor()
	return rule{name: row.rule, kind: token, anchors: anchors, back: back, find: f.find}
}

// A format is a shape and what is asked of the tokens that have it.
type format struct {
	shape   shape
	prefix  string
	letters int
	fold    bool
	entropy float64
}

// find finds a token with clear ends, or one between letters that begins with a
// prefix and looks drawn by lot. Of another one right behind a letter it tells
// that it counts only where a secret ends there.
func (f *format) find(t *scanner, i, end int) (from, to int) {
	to, last := f.shape.match(t.text, i, end, f.fold)
	if to == 0 {
		return 0, 0
	}
	needs, closed := f.needs(t.text[:i]), closes(t.text, last, to, end)
	if f.shape.elastic() {
		to = f.trim(t.text, i, to)
	}
	if f.prefix == "" && (!closed || startsBase64(t.text[to:end])) || !plausible(t.text[i:to], f.entropy) {
		return 0, 0
	}
	if f.prefix != "" && (needs > 0 || !closed) {
		drawn := f.drawn(t.text[i+len(f.prefix) : to])
		if !closed && !drawn {
			return 0, 0
		}
		if drawn && needs == i {
			needs = pieceOf(t.text[:i], b64all)
		}
	}
	t.needs = needs
	return i, to
}

// needs returns where a secret must end for a token right of the text to count,
// or 0 for anywhere.
func (f *format) needs(text string) int {
	switch {
	case !opens(text, len(text)):
		return len(text)
	case f.prefix == "":
		return pieceOf(text, b64)
	}
	return 0
}

// trim leaves to the text what stands around the token, if a token is left.
func (f *format) trim(text string, from, to int) int {
	if n := inside(text, from, to); n < to {
		if m, _ := f.shape.match(text, from, n, f.fold); m > 0 {
			return m
		}
	}
	return to
}

// drawn reports whether the bytes behind a prefix look drawn by lot: nearly as
// many letters in turn as chance would have.
func (f *format) drawn(body string) bool {
	const chance = 0.9
	return scattered(body) || entropy(body) >= chance*math.Log2(float64(min(len(body), f.letters)))
}

func (row assignedRow) compile() rule {
	s, least := parse(row.format), max(row.entropy, leastEntropy)
	shaped := s[0].literal != ""
	return rule{name: row.rule, kind: assigned, anchors: []string{row.keyword}, find: func(t *scanner, i, end int) (from, to int) {
		from = t.value(i, row.keyword, row.word, end)
		if from == 0 {
			return 0, 0
		}
		to, last := s.match(t.text, from, end, true)
		if to == 0 || last != 0 && !closes(t.text, last|word, to, end) || !plausible(t.text[from:to], least) || !shaped && !strings.ContainsAny(t.text[from:to], "0123456789") {
			return 0, 0
		}
		return from, to
	}}
}

// plausible reports whether a token may be real: random enough, no dummy.
func plausible(text string, least float64) bool {
	return entropy(text) >= least && !placeholder(text)
}
