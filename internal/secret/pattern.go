package secret

import (
	"fmt"
	"strconv"
	"strings"
)

// A patternPart is a literal, or min to max bytes of a class. Padding is an optional run of at most three equals signs.
type patternPart struct {
	literal  string
	class    class
	min, max int
	padding  bool
}

// A pattern is the format of a token, written so:
//
//	ghp_<alnum:36>                     a literal, then 36 letters and digits
//	glc_<b64:32-400><pad>              32 to 400 of base64, then padding
//	<alnum:6>_<alnum:29>_mmk           parts of fixed length before a literal
//	HEROKU<uuid>                       short for the five hexadecimal parts
//
// In the tables, {sk,rk}_live_<alnum:24> is short for two patterns.
// No part needs to look ahead: a part of fixed length takes just so much, any other takes all it can.
type pattern []patternPart

const uuidPattern = "<Hex:8>-<Hex:4>-<Hex:4>-<Hex:4>-<Hex:12>"

// alternatives returns the texts that a text with choices stands for, in their order: a{b,c} is ab or ac.
func alternatives(text string) (all []string) {
	before, rest, found := strings.Cut(text, "{")
	if !found {
		return []string{text}
	}
	choices, rest, _ := strings.Cut(rest, "}")
	for choice := range strings.SplitSeq(choices, ",") {
		for _, end := range alternatives(rest) {
			all = append(all, before+choice+end)
		}
	}
	return all
}

// maxUnboundedPart is the most bytes of an unbounded part. Only a token with a mark in its prefix that the part cannot
// hold has one: so no run is measured twice.
const maxUnboundedPart = 1 << 16

// parsePattern parses a shape; the tables are constants, so an error panics.
func parsePattern(format string) (s pattern) {
	format = strings.ReplaceAll(format, "<uuid>", uuidPattern)
	for format != "" {
		literal, rest, found := strings.Cut(format, "<")
		if literal != "" {
			s = append(s, patternPart{literal: literal})
		}
		if !found {
			break
		}
		var body string
		body, format, _ = strings.Cut(rest, ">")
		s = append(s, parsePart(body))
	}
	return s
}

func parsePart(body string) patternPart {
	if body == "pad" {
		return patternPart{padding: true}
	}
	name, size, _ := strings.Cut(body, ":")
	from, to, ranged := strings.Cut(size, "-")
	minimum, err := strconv.Atoi(from)
	maximum := minimum
	if ranged {
		maximum = maxUnboundedPart
		if to != "" {
			maximum, err = strconv.Atoi(to)
		}
	}
	if classNames[name] == 0 || err != nil {
		panic(fmt.Sprintf("a pattern has the unknown part <%s>", body))
	}
	return patternPart{class: classNames[name], min: minimum, max: maximum}
}

// match returns the end of the token that begins at i, or 0, and the class that the next byte must not have. It reads
// only up to end, where the text ends or another secret begins.
func (s pattern) match(text string, i, end int, fold bool) (to int, last class) {
	for k, p := range s {
		switch {
		case p.literal != "":
			if len(p.literal) > end-i || text[i:i+len(p.literal)] != p.literal &&
				!(fold && strings.EqualFold(text[i:i+len(p.literal)], p.literal)) {
				return 0, 0
			}
			i, last = i+len(p.literal), alnum
		case p.padding:
			if n := skipPadding(text[:end], i); n > i {
				return n, 0
			}
		default:
			limit := i + p.max
			if p.min < p.max && k < len(s)-1 {
				limit++
			}
			n := runEnd(text, p.class, i, min(end, limit)) - i
			if n < p.min || n > p.max {
				return 0, 0
			}
			i, last = i+n, p.class
		}
	}
	return i, last
}

// anchor returns a fixed piece of three bytes or more, and its distance from the start of the token. A shorter literal
// is extended by each byte that may follow it, so there can be many pieces.
func (s pattern) anchor() (pieces []string, back int) {
	best, at, offset := -1, 0, 0
	for k, p := range s {
		if p.literal != "" && (best < 0 || len(p.literal) > len(s[best].literal)) {
			best, at = k, offset
		}
		if p.literal == "" && p.min != p.max {
			break
		}
		offset += len(p.literal) + p.min
	}
	literal := s[best].literal
	if len(literal) >= 3 {
		return []string{literal}, at
	}
	for b := range 256 {
		if classes[b]&s[best+1].class != 0 {
			pieces = append(pieces, literal+string(rune(b)))
		}
	}
	return pieces, at
}

// prefix returns the fixed start of a token if it has a mark and so ends no word: ghp_, glpat-, SG. The prefixes of
// AKIA and of eyJ are empty.
func (s pattern) prefix() string {
	if !strings.ContainsAny(s[0].literal, punctuationMarks) {
		return ""
	}
	return s[0].literal
}

// alphabetSize returns the number of letters in the widest alphabet of a pattern, in one case.
func (s pattern) alphabetSize() (maximum int) {
	for _, p := range s {
		n := 0
		for b := range 256 {
			if classes[b]&p.class != 0 && (b < 'A' || b > 'Z' || classes[b|0x20]&p.class == 0) {
				n++
			}
		}
		maximum = max(maximum, n)
	}
	return maximum
}

// isVariableLength reports whether the last part has no fixed length.
func (s pattern) isVariableLength() bool { return s[len(s)-1].min < s[len(s)-1].max }
