package setup

import (
	"fmt"
	"strings"
)

// contextLines is the number of unchanged lines around a change.
const contextLines = 3

// diff returns the change of a file as a unified diff with one hunk. A nil text is that of a file which does not exist.
func diff(path string, before, after []byte) string {
	a, b := splitLines(before), splitLines(after)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < min(len(a), len(b))-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from, rest := max(same-contextLines, 0), min(tail, contextLines)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameOf(path, before), nameOf(path, after))
	fmt.Fprintf(&out, "@@ -%s +%s @@\n", span(from, len(a)-tail+rest), span(from, len(b)-tail+rest))
	writeLines(&out, " ", a[from:same])
	writeLines(&out, "-", a[same:len(a)-tail])
	writeLines(&out, "+", b[same:len(b)-tail])
	writeLines(&out, " ", a[len(a)-tail:len(a)-tail+rest])
	return out.String()
}

func nameOf(path string, text []byte) string {
	if text == nil {
		return "/dev/null"
	}
	return path
}

// splitLines returns the lines with their ends.
func splitLines(text []byte) (lines []string) {
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

// span returns the lines [from, to) of a hunk: the first line, which is 1, and their number.
func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, sign string, lines []string) {
	for _, line := range lines {
		out.WriteString(sign + line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
