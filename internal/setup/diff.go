package setup

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// UnifiedDiff returns the change of a file as a unified diff. A nil text is that of a file which does not exist.
func UnifiedDiff(path string, before, after []byte) string {
	text := diff.Diff(nameOf(path, before), before, nameOf(path, after), after)
	_, hunks, _ := strings.Cut(string(text), "\n") // its first line has the names alone
	return hunks
}

func nameOf(path string, text []byte) string {
	if text == nil {
		return "/dev/null"
	}
	return path
}
