package blob

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/runes"

	"github.com/loci-memory/loci"
)

// Disposition returns the Content-Disposition of a download (RFC 6266): the name cleaned in the parameter filename, and
// in filename* whole, except for marks that turn the direction of text and hide how a name ends.
func Disposition(name string) string {
	safe := loci.FileName(name).Safe()
	plain := strings.Map(func(r rune) rune {
		if r > '~' || strings.ContainsRune(`"\%;`, r) {
			return '_'
		}
		return r
	}, safe)
	var whole strings.Builder
	for _, c := range []byte(cmp.Or(runes.Remove(runes.In(unicode.Bidi_Control)).String(name), safe)) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			whole.WriteByte(c)
		} else {
			fmt.Fprintf(&whole, "%%%02X", c)
		}
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + whole.String()
}
