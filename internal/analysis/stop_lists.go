package analysis

import (
	_ "embed"
	"strings"
)

// ForeignStopLists returns the stop words of languages other than English, a set for each group of languages.
func ForeignStopLists() []map[string]bool { return foreignStopLists }

//go:embed stop_lists.txt
var stopLists string

// foreignStopLists are the groups of stop_lists.txt. They have each word without its accents too.
var foreignStopLists = readStopLists(stopLists)

func readStopLists(text string) (lists []map[string]bool) {
	for group := range strings.SplitSeq(text, "\n\n") {
		list := map[string]bool{}
		for line := range strings.Lines(group) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			for word := range strings.FieldsSeq(line) {
				unaccented, _, _ := Unaccent(nil, []byte(word))
				list[word], list[string(unaccented)] = true, true
			}
		}
		lists = append(lists, list)
	}
	return lists
}
