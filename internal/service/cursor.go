package service

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
)

// A pageQuery is what a page answers: who asks, which operation, and its input
// without limit and cursor. A cursor fits the question that it came from.
type pageQuery struct {
	s    *Service
	who  *identity.Actor
	name string
	in   any
}

// signatureSize is the length of a signature, in bytes.
const signatureSize = 12

// parse returns the page that a cursor and a limit ask for.
func (q pageQuery) parse(c loci.Cursor, l loci.Limit) (p store.Page, err error) {
	p.Limit = l.OrDefault()
	if c == "" {
		return p, nil
	}
	// The decoder passes over line breaks, so they are looked for apart.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil || strings.ContainsAny(string(c), "\r\n") || len(raw) < 8+signatureSize ||
		!hmac.Equal(raw[len(raw)-signatureSize:], q.sign(raw[:len(raw)-signatureSize])) {
		return p, loci.NewError(loci.CodeInvalidQuery,
			"cursor does not belong to this question: start again without it")
	}
	raw = raw[:len(raw)-signatureSize]
	p.After = store.PageKey{At: loci.Time(binary.BigEndian.Uint64(raw)), ID: string(raw[8:])}
	return p, nil
}

// cursor writes a place in the answer.
func (q pageQuery) cursor(m store.PageKey) string {
	raw := append(binary.BigEndian.AppendUint64(nil, uint64(m.At)), m.ID...)
	return base64.RawURLEncoding.EncodeToString(append(raw, q.sign(raw)...))
}

func (q pageQuery) sign(raw []byte) []byte {
	canonical, err := json.Marshal([]any{q.name, q.who.UserID,
		q.who.CredentialID != "" && q.who.GrantedWorkspaces != nil, q.who.GrantedWorkspaces, q.in})
	if err != nil {
		panic(err) // inputs marshal: they were decoded
	}
	h := hmac.New(sha256.New, q.s.Store.Secret())
	h.Write(canonical)
	h.Write(raw)
	return h.Sum(nil)[:signatureSize]
}

// itemsAndCursor returns the items of a page and the cursor of the next one, if there is one.
func itemsAndCursor[T any](q pageQuery, l store.List[T], mark func(T) store.PageKey) ([]T, string) {
	if !l.HasMore || len(l.Items) == 0 {
		return l.Items, ""
	}
	return l.Items, q.cursor(mark(l.Items[len(l.Items)-1]))
}
