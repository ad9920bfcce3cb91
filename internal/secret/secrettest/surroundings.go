package secrettest

import "strings"

// A Surrounding is the text directly before and behind a credential.
type Surrounding struct{ Before, Behind string }

// Surroundings are the ends of sentences, the signs of Markdown, of programs and
// of addresses. None of them is a letter or a digit.
var Surroundings = []Surrounding{
	{"_", "_"}, {"__", "__"}, {"*", "*"}, {"**", "**"}, {"~~", "~~"}, {"`", "`"}, {`"`, `"`}, {"'", "',"}, {"(", ")"},
	{"[", "](u)"}, {"<", ">"},
	{"", "."}, {"", ". So"}, {" ", "..."}, {"", "-"}, {"-", " - so"}, {"", "?"}, {"", "!"}, {"", "\n"}, {"/", ""},
	{"https://x.com/", ""}, {"=", ""}, {"+", ""}, {"_", "_\n_"}, {"日本", "。"},
}

// Wrap puts a sample between its surroundings.
func (a Surrounding) Wrap(s Sample) Sample {
	s.Text = a.Before + s.Text + a.Behind
	s.From, s.To = s.From+len(a.Before), s.To+len(a.Before)
	return s
}

// IsAmbiguous reports whether the end of a sample is ambiguous. A token without a fixed length may end in a dash, and
// one behind a name in an underscore too.
func (a Surrounding) IsAmbiguous(s Sample) bool {
	named := s.Text != s.Secret() && strings.HasPrefix(a.Behind, "_")
	return !s.Fixed && s.Text[s.To:] == "" && (named || strings.HasPrefix(a.Behind, "-"))
}
