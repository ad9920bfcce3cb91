package title

import "strings"

// IsDerived reports whether the title of a stored record is derived. A row of schema 1 has no flag. Its title is
// derived if it equals the former derivation of its content.
func IsDerived(flag *bool, title, content string) bool {
	if flag != nil {
		return *flag
	}
	return title == firstLine(content)
}

// firstLine returns the former derived title of a content: its first heading, or else its first non-empty line.
func firstLine(content string) string {
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if rest := strings.TrimLeft(line, "#"); len(rest) < len(line) && len(line)-len(rest) <= 6 &&
			(rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			line = strings.TrimSpace(strings.TrimRight(rest, "# \t"))
		}
		if line != "" {
			return Truncate(line)
		}
	}
	return ""
}
