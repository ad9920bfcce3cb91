package secrettest

import "strings"

// An Around is what texts write directly before and behind a credential.
type Around struct{ Before, Behind string }

// Surroundings are the ends of sentences, the signs of Markdown, of programs and
// of addresses. None of them is a letter or a digit.
var Surroundings = []Around{
	{"_", "_"}, {"__", "__"}, {"*", "*"}, {"**", "**"}, {"~~", "~~"}, {"`", "`"}, {`"`, `"`}, {"'", "',"}, {"(", ")"}, {"[", "](u)"}, {"<", ">"},
	{"", "."}, {"", ". So"}, {" ", "..."}, {"", "-"}, {"-", " - so"}, {"", "?"}, {"", "!"}, {"", "\n"}, {"/", ""}, {"https://x.com/", ""}, {"=", ""}, {"+", ""}, {"_", "_\n_"}, {"日本", "。"},
}

// In puts a sample between its surroundings.
func (a Around) In(s Sample) Sample {
	s.Text = a.Before + s.Text + a.Behind
	s.From, s.To = s.From+len(a.Before), s.To+len(a.Before)
	return s
}

// Takes reports whether nobody can tell what stands behind a sample from its
// last bytes: a token without a fixed length may end in a dash, and one behind a
// name in an underscore too.
func (a Around) Takes(s Sample) bool {
	named := s.Text != s.Secret() && strings.HasPrefix(a.Behind, "_")
	return !s.Fixed && s.Text[s.To:] == "" && (named || strings.HasPrefix(a.Behind, "-"))
}
