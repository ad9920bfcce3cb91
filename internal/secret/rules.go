package secret

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind orders rules: where two match the same place, the greater one names it.
type kind uint8

const (
	kindGuessed    kind = iota // by the name before it and by its randomness
	kindAssigned               // by the provider's name before it, and its shape
	kindToken                  // by its own shape
	kindPrivateKey             // a private key
)

// A tokenPattern is a token recognized by its own shape.
type tokenPattern struct {
	rule, pattern string
	entropy       float64
}

// An assignedPattern is a value assigned to a name that contains the keyword and, behind it, the word. The word "*" is
// any credential word, and "" needs none.
type assignedPattern struct {
	keyword, word string
	tokenPattern
}

var (
	//go:embed token_rules.txt
	tokenRules string
	//go:embed assigned_rules.txt
	assignedRules string
)

// readRules returns the fields of each rule of a table, once for each of its alternatives.
func readRules(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		for _, text := range alternatives(line) {
			rows = append(rows, strings.Fields(text))
		}
	}
	return rows
}

// patternOf returns the pattern of a row whose last fields are the pattern and its entropy.
func patternOf(row []string) tokenPattern {
	n := len(row)
	minimum, err := strconv.ParseFloat(row[n-1], 64)
	if err != nil {
		panic(err) // the tables are constants
	}
	return tokenPattern{row[0], row[n-2], max(minimum, minEntropy)}
}

// minEntropy is the least entropy of every token: less is a dummy such as 0000 or abab.
const minEntropy = 2

// A findFunc checks the text at an anchor, and returns the place of the secret;
// to is 0 for none. It must not read from the third argument on.
type findFunc func(s *scanner, i, end int) (from, to int)

// A rule recognizes one kind of credential.
type rule struct {
	name         string
	kind         kind
	find         findFunc
	anchors      []string // in any case; the finder checks the case itself
	anchorOffset int      // from the anchor to the start of the finder
}

// caseInsensitiveRules are tokens whose fixed pieces have any case.
var caseInsensitiveRules = []string{
	"clojars-api-token", "digitalocean-refresh-token", "grafana-api-key", "grafana-cloud-api-token",
	"grafana-service-account-token", "npm-access-token", "slack-app-token", "slack-config-access-token",
	"slack-config-refresh-token",
}

// rules are all rules; among equals, the first one names a place.
var rules = func() (all []rule) {
	all = append(all, rule{name: "private-key", kind: kindPrivateKey, find: findPEM, anchors: []string{"begin"}})
	all = append(all, rule{name: "putty-private-key", kind: kindPrivateKey, find: findPuTTYKey,
		anchors: []string{"private-lines"}})
	for _, row := range readRules(tokenRules) {
		all = append(all, patternOf(row).compile())
	}
	all = append(all,
		rule{name: "jwt", kind: kindToken, find: findJWT, anchors: []string{"eyj"}},
		rule{name: "jwt-base64", kind: kindToken, find: findBase64JWT, anchors: []string{"zxlk"}},
		rule{name: "sentry-org-token", kind: kindToken, find: findSentryOrg, anchors: []string{"sntrys_"}},
		rule{name: "discord-bot-token", kind: kindToken, find: findDiscordBot, anchors: discordIDs()},
		rule{name: "azure-sas-signature", kind: kindToken, find: findSASSignature, anchors: []string{"sig="}},
	)
	for _, row := range readRules(assignedRules) {
		all = append(all, assignedPattern{row[1], strings.TrimPrefix(row[2], "-"), patternOf(row)}.compile())
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
		row.entropy}
	anchors, back := s.anchor()
	return rule{name: row.rule, kind: kindToken, anchors: anchors, anchorOffset: back, find: f.find}
}

// A tokenFinder is a pattern and the conditions for its tokens.
type tokenFinder struct {
	pattern      pattern
	prefix       string
	alphabetSize int
	ignoreCase   bool
	entropy      float64
}

// find finds a token with clear boundaries, or a random token between letters that begins with a prefix. It reports a
// token right behind a letter as one that counts only where a secret ends there.
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

// mustReach returns the least end of a secret left of the token for the token to count, or 0 for anywhere.
func (f *tokenFinder) mustReach(text string) int {
	switch {
	case !isTokenStart(text, len(text)):
		return len(text)
	case f.prefix == "":
		return base64RunStart(text, b64)
	}
	return 0
}

// trimMarks removes marks of the text around the token, if a token remains.
func (f *tokenFinder) trimMarks(text string, from, to int) int {
	if n := trimMarks(text, from, to); n < to {
		if m, _ := f.pattern.match(text, from, n, f.ignoreCase); m > 0 {
			return m
		}
	}
	return to
}

// looksRandom reports whether the bytes behind a prefix look random: letters alternate nearly as often as by chance.
func (f *tokenFinder) looksRandom(body string) bool {
	const chance = 0.9
	return looksRandom(body) || entropy(body) >= chance*math.Log2(float64(min(len(body), f.alphabetSize)))
}

func (row assignedPattern) compile() rule {
	s := parsePattern(row.pattern)
	hasLiteral := s[0].literal != ""
	return rule{name: row.rule, kind: kindAssigned, anchors: []string{row.keyword},
		find: func(t *scanner, i, end int) (from, to int) {
			from = t.valueStart(i, row.keyword, row.word, end)
			if from == 0 {
				return 0, 0
			}
			to, last := s.match(t.text, from, end, true)
			if to == 0 || last != 0 && !isTokenEnd(t.text, last|word, to, end) ||
				!isPlausible(t.text[from:to], row.entropy) || !hasLiteral &&
				!strings.ContainsAny(t.text[from:to], "0123456789") {
				return 0, 0
			}
			return from, to
		}}
}

// isPlausible reports whether a token may be real: random enough and no dummy.
func isPlausible(text string, minimum float64) bool {
	return entropy(text) >= minimum && !isPlaceholder(text)
}
