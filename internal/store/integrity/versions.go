package integrity

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checkVersions returns a description of the damage of a memory's versions, or "". Each number below the current one
// must have a version with a text.
func (w *workspaceCheck) checkVersions(m indexdb.MemoryRow) (what string, err error) {
	const maximum = 100 // versions of one query
	next, text := m.Version, m.Content
	wrong := func(format string, args ...any) {
		if what == "" {
			what = fmt.Sprintf(format, args...)
		}
	}
	above := math.MaxInt32
	for n := maximum; n == maximum && what == ""; {
		n = 0
		err := w.t.Query(`SELECT`+store.VersionColumns+
			`, v.checksum FROM versions v WHERE v.memory = ?1 AND v.version < ?2 ORDER BY v.version DESC LIMIT ?3`,
			[]any{m.RowID, above, maximum}, func(r sqldb.Row) error {
				var v store.VersionRow
				var typeIndex, status int
				var tags string
				var sum int64
				err := r.Scan(&v.Version, &v.Title, &v.StoredContent, &v.Prefix, &typeIndex, &tags, &status,
					&v.VerifiedAt,
					&v.VerifiedBy, &v.Evidence, &v.Confidence, &v.ValidUntil, &v.CreatedBy, &v.CreatedAt,
					&v.StoredDerived, &sum)
				n++
				switch above = v.Version; {
				case err != nil:
					return err
				case v.Version >= m.Version:
					wrong("version %d is not below the present one, %d", v.Version, m.Version)
				case v.Version != next-1:
					wrong("version %d is missing", next-1)
				case v.StoredContent != nil && v.Prefix != nil:
					wrong("version %d has a text and a length", v.Version)
				case v.Prefix != nil && (*v.Prefix < 0 || *v.Prefix > len(text)):
					wrong("version %d is %d bytes of a text of %d", v.Version, *v.Prefix, len(text))
				case typeIndex < 0 || typeIndex >= len(loci.MemoryTypes) || status < 0 ||
					status >= len(loci.MemoryStatuses):
					wrong("version %d has a type or status that is none", v.Version)
				default:
					v.ResolveContent(text)
					if text = v.Content; !utf8.ValidString(text) {
						wrong("version %d ends within a character", v.Version)
					}
					v.TitleDerived = v.StoredDerived != nil && *v.StoredDerived // as in corruption
					v.Type, v.Status = loci.MemoryTypes[typeIndex], loci.MemoryStatuses[status]
					if v.Tags, err = sqldb.DecodeStrings[string](tags); err != nil ||
						sum != checksum.Version(v.MemoryVersion) {
						wrong("the checksum of version %d is another one", v.Version)
					}
				}
				next = v.Version
				return nil
			})
		if err != nil {
			return "", err
		}
	}
	if next > 1 {
		wrong("version %d is missing", next-1)
	}
	return what, nil
}
