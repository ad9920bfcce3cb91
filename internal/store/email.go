package store

import (
	"golang.org/x/text/unicode/norm"

	"github.com/loci-memory/loci"
)

// FoldEmail returns the form in which addresses are stored and compared: normalization form C (UAX #15) without letter
// case.
func FoldEmail(e loci.Email) string {
	composed := loci.Email(norm.NFC.String(string(e)))
	return norm.NFC.String(composed.Fold())
}
