// Package cursor reads lists by pages. A cursor is a signed position, and belongs to one query of one caller.
package cursor

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
)

// A Query is the question that a cursor belongs to: the caller, its operation, and the input without paging.
type Query struct {
	Secret []byte // signs
	Actor  *identity.Actor
	In     any
}

// signatureSize is the length of a signature, in bytes.
const signatureSize = 12

// Parse returns the page that a limit and a cursor ask for.
func (q Query) Parse(paging loci.Paging) (p page.Request, err error) {
	c := paging.Cursor
	p.Limit = paging.Limit.OrDefault()
	if c == "" {
		return p, nil
	}
	// The decoder ignores line breaks, so they are checked separately.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil || strings.ContainsAny(string(c), "\r\n") || len(raw) < 8+signatureSize ||
		!hmac.Equal(raw[len(raw)-signatureSize:], q.sign(raw[:len(raw)-signatureSize])) {
		return p, loci.Errorf(loci.CodeInvalidQuery, "cursor does not belong to this query: start again without it")
	}
	raw = raw[:len(raw)-signatureSize]
	p.After = page.Key{At: loci.Time(binary.BigEndian.Uint64(raw)), ID: loci.ID(raw[8:])}
	return p, nil
}

// Encode encodes a position in the answer.
func (q Query) Encode(m page.Key) string {
	raw := append(binary.BigEndian.AppendUint64(nil, uint64(m.At)), m.ID...)
	return base64.RawURLEncoding.EncodeToString(append(raw, q.sign(raw)...))
}

func (q Query) sign(raw []byte) []byte {
	canonical, err := json.Marshal([]any{q.Actor.Operation, q.Actor.UserID,
		q.Actor.CredentialID != "" && q.Actor.GrantedWorkspaces != nil, q.Actor.GrantedWorkspaces, q.In})
	if err != nil {
		panic(err) // inputs marshal: they were decoded
	}
	h := hmac.New(sha256.New, q.Secret)
	h.Write(canonical)
	h.Write(raw)
	return h.Sum(nil)[:signatureSize]
}

// ListPage returns one page of a list and the cursor of the next one. It clears paging, which is a part of in: a cursor
// is valid for every limit. key returns the position of an item.
func ListPage[T any](ctx context.Context, s *store.Store, actor *identity.Actor, paging *loci.Paging, in any,
	list func(*store.Tx, page.Request) (page.List[T], error), key func(T) page.Key) ([]T, loci.Page, error) {
	asked := *paging
	*paging = loci.Paging{}
	q := Query{s.Secret(), actor, in}
	p, err := q.Parse(asked)
	if err != nil {
		return nil, loci.Page{}, err
	}
	l, err := store.Read(ctx, s, actor, func(tx *store.Tx) (page.List[T], error) { return list(tx, p) })
	if err != nil || !l.HasMore || len(l.Items) == 0 {
		return l.Items, loci.Page{}, err
	}
	return l.Items, loci.Page{NextCursor: q.Encode(key(l.Items[len(l.Items)-1]))}, nil
}
