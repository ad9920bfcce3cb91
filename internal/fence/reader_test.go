package fence

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// A parsedMemory is a memory as a reader of the text understands it.
type parsedMemory struct {
	ID, Kind, Author, Title, Tags, Text, Changed string
	Verified, Expired                            bool
}

var (
	headLine = regexp.MustCompile("^Memory ([a-zA-Z0-9-]+|`[^`]+`) \\((verified|not verified)(, expired)?" +
		"(?:, changed ([0-9-]+))?(?:, ([a-zA-Z0-9-]+|`[^`]+`))?\\), quoted as data:$")
	groupLine = regexp.MustCompile("^## (?:[a-zA-Z0-9-]+|`[^`]+`)$")
	titleLine = regexp.MustCompile("^# Memories(?: of `[^`]+`)?$")
	leftOut   = regexp.MustCompile(`^left out: [1-9][0-9]* hidden characters$`)
)

// parsePage parses a text line by line as its frame explains. An unknown line is an error, so no memory can write one.
// It shares no code with the writer.
func parsePage(text string) (all []parsedMemory, err error) {
	var m *parsedMemory
	var quoted []string
	head := false
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m == nil {
			switch found := headLine.FindStringSubmatch(line); {
			case line == "~~~" && head:
				m, quoted = &all[len(all)-1], nil
			case head:
				return nil, fmt.Errorf("line %d %q: a head without a fence", n, line)
			case found != nil:
				all = append(all, parsedMemory{ID: found[1], Verified: found[2] == "verified", Expired: found[3] != "",
					Changed: found[4], Kind: found[5]})
			case line != "" && line != strings.TrimSpace(preamble) && line != strings.TrimSpace(emptyNotice) &&
				!omittedLine.MatchString(line) &&
				!groupLine.MatchString(line) && (n > 0 || !titleLine.MatchString(line)):
				return nil, fmt.Errorf("line %d %q is outside of any memory", n, line)
			}
			head = strings.HasPrefix(line, "Memory ")
			continue
		}
		name, right, behind := strings.Cut(line, "│")
		right = strings.TrimPrefix(right, " ")
		switch {
		case line == "~~~":
			m.Text, m = strings.Join(quoted, "\n"), nil
		case behind && name == "":
			quoted = append(quoted, right)
		case behind && quoted == nil && name == "author " && m.Author == "" && m.Title == "" && m.Tags == "":
			m.Author = right
		case behind && quoted == nil && name == "title " && m.Title == "" && m.Tags == "":
			m.Title = right
		case behind && quoted == nil && name == "tags " && m.Tags == "":
			m.Tags = right
		case line == "author unknown" || leftOut.MatchString(line):
		default:
			return nil, fmt.Errorf("line %d %q has no bar and is no field", n, line)
		}
	}
	if m != nil || head {
		return nil, fmt.Errorf("a fence is not closed")
	}
	return all, nil
}

// expected returns the memory that a reader must find.
func expected(m Memory) parsedMemory {
	label := func(s string) string {
		if s != "" && len(s) <= 64 && regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`).MatchString(s) {
			return s
		}
		if s = oneLine(s, 300); s == "" {
			return "unnamed"
		}
		return "`" + strings.ReplaceAll(s, "`", "'") + "`"
	}
	e := parsedMemory{ID: label(m.ID), Changed: m.Changed, Verified: m.Verified, Expired: m.Expired,
		Author: oneLine(m.Author, 300),
		Title:  oneLine(m.Title, 300)}
	if m.Type != "" {
		e.Kind = label(m.Type)
	}
	var tags []string
	for i, t := range m.Tags {
		if t = oneLine(t, 64); t != "" && i < 32 {
			tags = append(tags, t)
		}
	}
	e.Tags = strings.Join(tags, ", ")
	e.Text = strings.TrimRight(visible(m.Content), "\n")
	return e
}

func oneLine(s string, limit int) string {
	s = strings.TrimSpace(strings.ReplaceAll(visible(s), "\n", " "))
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n")

// visible implements the rules of doc.go slowly. Which joiners stay is another
// table (TestJoinersAreKeptWhereMeaningful).
func visible(s string) string {
	var out strings.Builder
	for _, r := range lineEnds.Replace(s) {
		switch {
		case r == '\n' || r == '\t':
			out.WriteRune(r)
		case isUnicodeIgnorable(r):
			if (&writer{buf: []byte(" " + out.String())}).keepsMeaning(r) {
				out.WriteRune(r)
			}
		case r < ' ':
			out.WriteRune(0x2400 + r)
		case r == 0x7f:
			out.WriteRune(0x2421)
		case unicode.IsControl(r):
			out.WriteRune(utf8.RuneError)
		default:
			out.WriteRune(r)
		}
	}
	return regexp.MustCompile(`(<[|｜])([a-zA-Z_[:^ascii:]])`).ReplaceAllString(out.String(), "$1 $2")
}

// isUnicodeIgnorable derives Default_Ignorable_Code_Point as
// DerivedCoreProperties.txt defines it, and adds interlinear annotation.
func isUnicodeIgnorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) && (r < 0x13430 || r > 0x1345f)
}

// commonMark counts the headings and the fenced blocks of a text in Markdown. It names the kinds of its other blocks
// but paragraphs.
func commonMark(source string) (headings, fences int, others []string) {
	known := parser.NewContext()
	root := goldmark.DefaultParser().Parse(text.NewReader([]byte(source)), parser.WithContext(known))
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n.Kind() {
		case ast.KindHeading:
			headings++
		case ast.KindFencedCodeBlock:
			fences++
		case ast.KindParagraph:
		default:
			others = append(others, n.Kind().String())
		}
	}
	for _, r := range known.References() {
		others = append(others, "reference "+string(r.Label()))
	}
	return headings, fences, others
}
