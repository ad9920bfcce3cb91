package opflags

import (
	"testing"
	"time"

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

func TestTimesAreThoseOfTheTimeZone(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*3600)
	since, end := &spec{Field: op.Field{Instant: true}}, &spec{Field: op.Field{Instant: true, EndOfDay: true}}
	for text, want := range map[string]string{"2026-01-02": "2026-01-01T22:00:00.000Z",
		"2026-01-02T15:04":     "2026-01-02T13:04:00.000Z",
		"2026-01-02 15:04:05":  "2026-01-02T13:04:05.000Z",
		"2026-01-02T15:04:05Z": "2026-01-02T15:04:05Z", "7d": "7d", "soon": "soon"} {
		testenv.Equal(t, since.inTimeZone(text, zone), want)
	}
	testenv.Equal(t, end.inTimeZone("2026-01-02", zone), "2026-01-02T21:59:59.999Z")
	testenv.Equal(t, (&spec{}).inTimeZone("2026-01-02", zone), "2026-01-02")
}
