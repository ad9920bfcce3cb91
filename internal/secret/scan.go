package secret

import (
	"slices"
	"strings"
)

// A Finding is one credential in a text.
type Finding struct {
	Rule     string // as gitleaks calls it
	Line     int    // of its first byte, from 1; lines end with \n
	From, To int    // the bytes of the secret only, without the name before it
}

// Anchors are found by a hash of three bytes. heads has the first anchor of each hash, or 0.
const (
	hashBits = 14
	hashMul  = 0x9e3779b1
)

// An anchor is three bytes of a fixed piece of a rule.
type anchor struct {
	trigram uint32 // lower case
	offset  int    // from here to the start of the finder
	rule    uint16
	next    uint16 // the next of the same hash, 0 for none
}

var anchorHeads, anchors = func() (h [1 << hashBits]uint16, list []anchor) {
	list = make([]anchor, 1)
	for i := len(rules) - 1; i >= 0; i-- {
		for _, piece := range rules[i].anchors {
			k := rarestTrigram(piece)
			g := uint32(piece[k]|0x20) | uint32(piece[k+1]|0x20)<<8 | uint32(piece[k+2]|0x20)<<16
			at := hashTrigram(g)
			list = append(list, anchor{trigram: g, offset: rules[i].anchorOffset + k, rule: uint16(i), next: h[at]})
			h[at] = uint16(len(list) - 1)
		}
	}
	return h, list
}()

func hashTrigram(gram uint32) uint32 { return gram * hashMul >> (32 - hashBits) }

// rarestTrigram returns the start of the three bytes of a piece that are the
// rarest in texts, judged by letter frequency.
func rarestTrigram(piece string) (at int) {
	const common = "zqjxkvbywgpfmucdlhrsnioate"
	minimum := 3 * len(common)
	for i := range len(piece) - 2 {
		sum := 0
		for _, b := range []byte(piece[i : i+3]) {
			sum += strings.IndexByte(common, b|0x20) + 1
		}
		if sum < minimum {
			at, minimum = i, sum
		}
	}
	return at
}

// A hit is a place where a rule has found a secret. If mustReach is not 0, the hit counts only if a secret to the left
// ends there or later.
type hit struct{ from, to, rule, mustReach int }

// A scanner holds the hits to the right of the current place, and the long runs that a finder measured.
type scanner struct {
	text      string
	hits      []hit
	runs      [4]measuredRun // of the last JSON Web Token, and of one in base64
	mustReach int            // set by the last finder
}

// requireReach records that a token at i counts only where a secret reaches it, unless its start is clear.
func (s *scanner) requireReach(i int, clear bool) {
	if !clear {
		s.mustReach = i
	}
}

// Scan finds the credentials in a text of any bytes, ordered and without overlaps. It takes linear time for any text.
// In one place it finds at most one secret, under the name of the most specific rule.
func Scan(text string) []Finding {
	s := scanner{text: text}
	var gram uint32
	for i := len(text) - 1; i >= 0; i-- {
		gram = (gram<<8 | uint32(text[i]|0x20)) & 0xffffff
		if a := anchorHeads[hashTrigram(gram)]; a != 0 {
			s.runRules(i, gram, a)
		}
	}
	return mergeHits(text, s.hits)
}

// runRules runs the rules that have an anchor at i. A rule without a clear
// result runs again on the text cut off at the next secret.
func (s *scanner) runRules(i int, gram uint32, a uint16) {
	for ; a != 0; a = anchors[a].next {
		if anchors[a].trigram != gram {
			continue
		}
		r := &rules[anchors[a].rule]
		start := i - anchors[a].offset
		if start < 0 {
			continue
		}
		ends := [3]int{len(s.text)}
		if len(s.hits) > 0 {
			ends[1], ends[2] = s.nextStarts(i)
		}
		for _, end := range ends {
			if end == 0 {
				continue
			}
			s.mustReach = 0
			if from, to := r.find(s, start, end); to > 0 {
				s.hits = append(s.hits, hit{from, to, int(anchors[a].rule), s.mustReach})
				if s.mustReach == 0 {
					break
				}
			}
		}
	}
}

// maxNearbyHits is the number of hits that are checked for the next one. Hits are nearly in order, except where an
// anchor is before or behind the start.
const maxNearbyHits = 8

// nextStarts returns the start of the next secret right of i, and of the next one with a clear start; 0 for none.
func (s *scanner) nextStarts(i int) (next, clear int) {
	for _, h := range s.hits[max(0, len(s.hits)-maxNearbyHits):] {
		if h.from > i && (next == 0 || h.from < next) {
			next = h.from
		}
		if h.from > i && h.mustReach == 0 && (clear == 0 || h.from < clear) {
			clear = h.from
		}
	}
	return next, clear
}

// dropUnreached removes the hits behind a letter that no secret reaches. A hit
// that counts is reached by one further left, so the hits are in order.
func dropUnreached(hits []hit) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int { return a.from - b.from })
	end := 0
	return slices.DeleteFunc(hits, func(h hit) bool {
		if h.mustReach > end {
			return true
		}
		end = max(end, h.to)
		return false
	})
}

// outranks reports whether a hit names a place better than one that begins before or with it. The greater kind does;
// among equals the first rule does, unless the hit is inside.
func outranks(h, first hit) bool {
	if a, b := rules[h.rule].kind, rules[first.rule].kind; a != b {
		return a > b
	}
	inside := h.from > first.from && h.to <= first.to
	return h.rule < first.rule && !inside
}

// mergeHits joins overlapping hits, so that no byte of either remains.
func mergeHits(text string, hits []hit) (all []Finding) {
	hits = dropUnreached(hits)
	line, counted := 1, 0
	for len(hits) > 0 {
		h := hits[0]
		for hits = hits[1:]; len(hits) > 0 && hits[0].from < h.to; hits = hits[1:] {
			if outranks(hits[0], h) {
				h.rule = hits[0].rule
			}
			h.to = max(h.to, hits[0].to)
		}
		line += strings.Count(text[counted:h.from], "\n")
		counted = h.from
		all = append(all, Finding{Rule: rules[h.rule].name, Line: line, From: h.from, To: h.to})
	}
	return all
}
