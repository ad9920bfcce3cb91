package fence

import (
	"regexp"
	"strings"
)

// Strip removes what [Markdown], [MarkdownWithin] and [Prefix] wrote from a text: whole snapshots, and memories without
// their frame. It finds them between other lines, indented, quoted by "> ", and cut at the end of the text. Everything
// else is kept byte for byte. A lone line of a memory, without the line that announces it, is no quotation and is kept.
func Strip(text string) string {
	kept, _ := strip(text)
	return kept
}

// strip returns the rest of a text, and the number of bytes of lines that it has read.
func strip(text string) (rest string, read int) {
	if !strings.Contains(text, "# Memories") && !strings.Contains(text, "quoted as data:") {
		return text, 0
	}
	q := &quotedLines{lines: strings.SplitAfter(text, "\n")}
	if last := len(q.lines) - 1; q.lines[last] == "" {
		q.lines = q.lines[:last]
	}
	var kept strings.Builder
	inside := false // the line before was a part of a snapshot
	for i := 0; i < len(q.lines); {
		start, n := q.snapshot(i)
		if n == 0 {
			n = q.item(i, inside)
		}
		if inside = n > 0; !inside {
			start, n = len(q.lines[i]), 1
		}
		kept.WriteString(q.lines[i][:start])
		i += n
	}
	return kept.String(), q.read
}

// A label is a plain word or a code span; see writeLabel.
const label = "(?:[a-zA-Z0-9-]+|`[^`\n]+`)"

var (
	snapshotHeading = regexp.MustCompile("# Memories(?: of `[^`\n]+`)?$")
	cutHeading      = regexp.MustCompile("^# Memories(?: (?:o|of|of (?:`[^`\n]*`?)?)?)?$")
	groupHeading    = regexp.MustCompile("^## " + label + "$")
	cutGroup        = regexp.MustCompile("^#(?:#|# |# [a-zA-Z0-9-]+|# `[^`\n]*`?)?$")
	memoryHead      = regexp.MustCompile("^Memory " + label + " \\((?:not )?verified(?:, expired)?" +
		"(?:, changed [0-9-]{10})?(?:, " + label + ")?\\), quoted as data:$")
	omittedLine = regexp.MustCompile("^[1-9][0-9]*" + regexp.QuoteMeta(omittedWords) + "$")
	cutHead     = regexp.MustCompile("^Memory (?:(?:[a-zA-Z0-9-]+|`[^`\n]*)?|" + label +
		" (?:\\([a-zA-Z0-9, -]*(?:`[^`\n]*`?)?(?:\\)[a-z, ]*:?)?)?|" + label + ")$")
	ownLine = regexp.MustCompile("^(?:(?:author |title |tags )?" + quoteBar +
		"|author unknown$|left out: [1-9][0-9]* hidden characters$)")
)

// quotedLines are the lines of a text that may quote memories.
type quotedLines struct {
	lines []string
	read  int // bytes, for a test of linear time
}

// line returns line i, and counts its bytes as read.
func (q *quotedLines) line(i int) string {
	q.read += len(q.lines[i])
	return q.lines[i]
}

// body returns a line without indentation, marks of a quotation, and line end. Behind the last line it returns "".
func (q *quotedLines) body(i int) string {
	if i >= len(q.lines) {
		return ""
	}
	return strings.TrimRight(strings.TrimLeft(q.line(i), " \t>"), " \t\r\n")
}

// cut reports whether the text ends within a line, and returns the beginning of that line without a torn character.
func (q *quotedLines) cut(i int) (string, bool) {
	if i != len(q.lines)-1 || strings.HasSuffix(q.lines[i], "\n") {
		return "", false
	}
	torn := strings.TrimRight(strings.ToValidUTF8(strings.TrimLeft(q.line(i), " \t>"), "\ufffd"), "\ufffd\r")
	return torn, true
}

// skipBlank returns the number of the first line from i that is not blank, at most one further.
func (q *quotedLines) skipBlank(i int) int {
	if i < len(q.lines) && q.body(i) == "" {
		i++
	}
	return i
}

// snapshot returns the number of lines of the frame that begins in line i, and its first byte there.
func (q *quotedLines) snapshot(i int) (start, n int) {
	if text, isCut := q.cut(i); isCut && cutHeading.MatchString(text) {
		return 0, 1
	}
	heading := snapshotHeading.FindString(q.body(i))
	if heading == "" {
		return 0, 0
	}
	if start = strings.LastIndex(q.line(i), heading); strings.Trim(q.lines[i][:start], " \t>") == "" {
		start = 0
	}
	at := q.skipBlank(i + 1)
	if at >= len(q.lines) {
		return start, at - i
	}
	for _, words := range []string{preamble, emptyNotice, truncatedNotice} {
		words = strings.TrimSpace(words)
		if text, isCut := q.cut(at); q.body(at) == words || isCut && strings.HasPrefix(words, text) {
			if next := q.skipBlank(at + 1); next < len(q.lines) && q.isOmittedNotice(next) {
				at = next
			}
			return start, at + 1 - i
		}
	}
	return 0, 0
}

// isOmittedNotice reports whether line i says how many memories are left out.
func (q *quotedLines) isOmittedNotice(i int) bool {
	if omittedLine.MatchString(q.body(i)) {
		return true
	}
	text, isCut := q.cut(i)
	words := strings.TrimLeft(text, "0123456789")
	return isCut && words != text && strings.HasPrefix(omittedWords, words)
}

// item returns the number of lines of the memory, or of the group heading, that begins in line i. Inside a snapshot a
// blank line before it belongs to it.
func (q *quotedLines) item(i int, inside bool) int {
	at := i
	if inside {
		at = q.skipBlank(i)
	}
	if n := q.memory(at); n > 0 {
		return at + n - i
	}
	if !inside || at >= len(q.lines) {
		return 0
	}
	text, isCut := q.cut(at)
	if isCut && cutGroup.MatchString(text) || q.cutMemory(at) || q.group(at) {
		return at + 1 - i
	}
	return 0
}

// group reports whether line i is the heading of a group: a memory, or the end of the text, follows it. [Markdown]
// writes no two headings in a row, so one look ahead is enough, and a text of headings takes linear time.
func (q *quotedLines) group(i int) bool {
	if !groupHeading.MatchString(q.body(i)) {
		return false
	}
	next := q.skipBlank(i + 1)
	return next >= len(q.lines) || q.memory(next) > 0 || q.cutMemory(next)
}

// cutMemory reports whether line i is the beginning of the line that announces a memory, at the end of the text.
func (q *quotedLines) cutMemory(i int) bool {
	text, isCut := q.cut(i)
	return isCut && text != "" && (cutHead.MatchString(text) || strings.HasPrefix("Memory", text))
}

// memory returns the number of lines of the memory that begins in line i.
func (q *quotedLines) memory(i int) int {
	const fenceLine = "~~~"
	if i >= len(q.lines) || !memoryHead.MatchString(q.body(i)) {
		return 0
	}
	at := i + 1
	if at < len(q.lines) && q.body(at) != fenceLine {
		if text, isCut := q.cut(at); isCut && strings.HasPrefix(fenceLine, text) {
			return at + 1 - i
		}
		return 0
	}
	for at++; at < len(q.lines); at++ {
		if q.body(at) == fenceLine {
			return at + 1 - i
		}
		if !ownLine.MatchString(q.body(at)) {
			if text, isCut := q.cut(at); isCut && beginsOwnLine(text) {
				at++
			}
			break
		}
	}
	return min(at, len(q.lines)) - i
}

// beginsOwnLine reports whether a cut line is the beginning of one that this package writes inside a fence.
func beginsOwnLine(text string) bool {
	for _, whole := range []string{"author unknown", "title ", "tags ", "~~~", "left out: "} {
		if strings.HasPrefix(whole, text) {
			return true
		}
	}
	return strings.HasPrefix(text, "left out: ") && strings.HasPrefix(" hidden characters",
		strings.TrimLeft(strings.TrimPrefix(text, "left out: "), "0123456789"))
}
