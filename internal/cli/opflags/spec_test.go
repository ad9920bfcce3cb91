package opflags

import "testing"

func TestHelpListsOnlyValidValues(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]spec{
		"One of admin, member":              {enum: []string{"admin", "member"}},
		"Who (admin, member)":               {enum: []string{"admin", "member"}, description: "Who"},
		"With redact: cut (refuse, redact)": {enum: []string{"refuse", "redact"}, description: "redact: cut"},
		`With "": derived anew`:             {description: "null: derived anew"},
		"How many":                          {description: "How many"},
	} {
		if got := s.usage(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
