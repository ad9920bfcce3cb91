package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
)

// An entry is what a run keeps of a listed memory: hashes in place of its texts.
type entry struct {
	id, atlas    loci.ID
	title        string
	text, review string // hashes
	former       string // the hash of the text in pairs from before titles were known as derived
	sent         string // hash of the text for sentHash, or "" where the memory has earlier versions
	status       loci.MemoryStatus
	supersededBy loci.ID
	verifiedAt   loci.Time
	createdAt    loci.Time
	createdBy    loci.ID
}

// maxListedTitle bounds the bytes of a title in memory and in the report.
const maxListedTitle = 120

func newEntry(m loci.Memory) *entry {
	return &entry{id: m.ID, atlas: m.AtlasID, title: shorten(m.Title), text: textHash(m), former: formerTextHash(m),
		review: reviewHash(m), status: m.Status, supersededBy: m.SupersededBy, verifiedAt: m.VerifiedAt,
		createdAt: m.CreatedAt, createdBy: m.CreatedBy}
}

// sum identifies the state of a memory without the time of its review, which the API does not set. It ends with the
// atlas, unless that is not known.
func (e *entry) sum() string {
	sum := hash(e.text, e.review, string(e.status), string(e.supersededBy))
	if e.atlas != "" {
		sum += "@" + string(e.atlas)
	}
	return sum
}

// atlasOf returns the atlas in a sum or a state, or "".
func atlasOf(state string) loci.ID {
	_, rest, _ := strings.Cut(state, "@")
	id, _, _ := strings.Cut(rest, ".")
	return loci.ID(id)
}

// hasMoved reports whether the atlas is another one than in a stored state that has one.
func hasMoved(stored string, atlas loci.ID) bool {
	was := atlasOf(stored)
	return was != "" && was != atlas
}

// state identifies the state of a memory.
func (e *entry) state() string { return e.sum() + "." + strconv.FormatInt(int64(e.verifiedAt), 36) }

// hasState reports whether the memory is in a stored state. One that was stored before titles were known as derived
// has the derived title in it. One without an atlas is of any.
func (e *entry) hasState(stored string) bool {
	now := *e
	if atlasOf(stored) == "" {
		now.atlas = ""
	}
	former := now
	former.text = e.former
	return now.state() == stored || former.state() == stored
}

// hasSum reports whether the memory has one of the sums. One without an atlas is of any.
func (e *entry) hasSum(sums ...string) bool {
	anywhere := *e
	anywhere.atlas = ""
	return slices.Contains(sums, e.sum()) || slices.Contains(sums, anywhere.sum())
}

// sumOf is the sum of a memory.
func sumOf(m loci.Memory) string { return newEntry(m).sum() }

// givenTitle returns the title of a memory, or "" where it is derived: the other side derives its own.
func givenTitle(m loci.Memory) string {
	if m.TitleDerived {
		return ""
	}
	return m.Title
}

// textHash covers the fields that memory.update changes.
func textHash(m loci.Memory) string {
	return hash(givenTitle(m), m.Content, string(m.Type), toJSON(m.Tags))
}

func formerTextHash(m loci.Memory) string {
	return hash(m.Title, m.Content, string(m.Type), toJSON(m.Tags))
}

// reviewHash covers the fields of a review.
func reviewHash(m loci.Memory) string {
	return hash(m.Evidence, toJSON(m.Confidence), m.ValidUntil.String())
}

// sentHash identifies the text of a new memory. A server may redact credentials, so they do not count. Nor does the
// title, which depends on them.
func sentHash(content string, kind loci.MemoryType, tags []string, source *loci.Source) string {
	redacted, _ := secret.Redact(content)
	if len(tags) == 0 {
		tags = nil
	}
	return hash(redacted, string(kind), toJSON(tags), toJSON(source))
}

// hash returns a hash of texts, of 24 hexadecimal digits.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		_, _ = h.Write([]byte(strconv.Itoa(len(t)) + ":" + t)) // it never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func toJSON(v any) string {
	b, _ := json.Marshal(v) // texts and numbers
	return string(b)
}

// shorten returns the beginning of a title.
func shorten(title string) string {
	for i := range title {
		if i > maxListedTitle {
			return title[:i] + "…"
		}
	}
	return title
}
