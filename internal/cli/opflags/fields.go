package opflags

import (
	"regexp"
	"strings"
)

// fieldWord finds the words of a message that may name a field.
var fieldWord = regexp.MustCompile(`[a-z][A-Za-z_]*(\.[a-z][A-Za-z_]*)*(: true)?`)

// toChange begins the message about an update of nothing. Fields follow.
const toChange = "send at least one field to change: "

// InFlags returns a message of an operation with flags and arguments in place of the names of its fields. A field that
// is a usual word too is meant only at the start, in a list of fields, or with a value.
func (f *Set) InFlags(message string) string {
	list := strings.HasPrefix(message, toChange)
	if list {
		message = strings.Replace(message, "send", "give", 1)
	}
	var b strings.Builder
	last := 0
	for _, at := range fieldWord.FindAllStringIndex(message, -1) {
		word, isTrue := strings.CutSuffix(message[at[0]:at[1]], ": true")
		name := f.wordOf(word)
		usual := strings.ToLower(word) == word && !strings.ContainsAny(word, "._")
		isMeant := !usual || isTrue || list || at[0] == 0 && at[1] < len(message)
		if name == "" || !isMeant {
			continue
		}
		b.WriteString(message[last:at[0]] + name)
		last = at[1]
	}
	return b.String() + message[last:]
}

// wordOf returns the flag or the argument of a field, or "".
func (f *Set) wordOf(field string) string {
	for _, s := range f.args {
		if s.Name == field && s.Resource != "" {
			return "<" + s.flag + ">"
		}
	}
	for _, s := range f.flags {
		name := s.Name
		if s.parent != "" {
			name = s.parent + "." + name
		}
		if name == field && s.flag != Confirm {
			return "--" + s.flag
		}
	}
	return ""
}
