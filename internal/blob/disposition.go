package blob

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

// Disposition returns the Content-Disposition of a download (RFC 6266): the name cleaned in the parameter filename, and
// whole in filename*.
func Disposition(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r > '~' || strings.ContainsRune(`"\%;`, r) {
			return '_'
		}
		return r
	}, loci.FileName(name).Safe())
	var whole strings.Builder
	for _, c := range []byte(name) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			whole.WriteByte(c)
		} else {
			fmt.Fprintf(&whole, "%%%02X", c)
		}
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + whole.String()
}
