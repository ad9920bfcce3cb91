package opflags

import (
	"testing"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestHelpListsOnlyValidValues(t *testing.T) {
	t.Parallel()
	for want, field := range map[string]op.Field{
		"One of admin, member":              {Enum: []string{"admin", "member"}},
		"Who (admin, member)":               {Enum: []string{"admin", "member"}, Description: "Who"},
		"With redact: cut (refuse, redact)": {Enum: []string{"refuse", "redact"}, Description: "redact: cut"},
		`With "": derived anew`:             {Description: "null: derived anew"},
		"How many":                          {Description: "How many"},
	} {
		testenv.Equal(t, (&spec{Field: field}).usage(), want)
	}
}
