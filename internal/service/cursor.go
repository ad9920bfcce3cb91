package service

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
	"github.com/loci-memory/loci/internal/store"
)

// A pageQuery is the question that a cursor belongs to: the caller, its operation, and the input without paging.
type pageQuery struct {
	s     *Service
	actor *identity.Actor
	in    any
}

// signatureSize is the length of a signature, in bytes.
const signatureSize = 12

// parse returns the page that a limit and a cursor ask for.
func (q pageQuery) parse(paging loci.Paging) (p store.Page, err error) {
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
	p.After = store.PageKey{At: loci.Time(binary.BigEndian.Uint64(raw)), ID: loci.ID(raw[8:])}
	return p, nil
}

// cursor encodes a position in the answer.
func (q pageQuery) cursor(m store.PageKey) string {
	raw := append(binary.BigEndian.AppendUint64(nil, uint64(m.At)), m.ID...)
	return base64.RawURLEncoding.EncodeToString(append(raw, q.sign(raw)...))
}

func (q pageQuery) sign(raw []byte) []byte {
	canonical, err := json.Marshal([]any{q.actor.Operation, q.actor.UserID,
		q.actor.CredentialID != "" && q.actor.GrantedWorkspaces != nil, q.actor.GrantedWorkspaces, q.in})
	if err != nil {
		panic(err) // inputs marshal: they were decoded
	}
	h := hmac.New(sha256.New, q.s.Store.Secret())
	h.Write(canonical)
	h.Write(raw)
	return h.Sum(nil)[:signatureSize]
}

// listPage returns one page of a list and the cursor of the next one. It clears paging, which is a part of in: a cursor
// is valid for every limit. key returns the position of an item.
func listPage[T any](ctx context.Context, s *Service, actor *identity.Actor, paging *loci.Paging, in any,
	list func(*store.Tx, store.Page) (store.List[T], error), key func(T) store.PageKey) ([]T, loci.Page, error) {
	asked := *paging
	*paging = loci.Paging{}
	q := pageQuery{s, actor, in}
	p, err := q.parse(asked)
	if err != nil {
		return nil, loci.Page{}, err
	}
	l, err := read(ctx, s, actor, func(tx *store.Tx) (store.List[T], error) { return list(tx, p) })
	if err != nil || !l.HasMore || len(l.Items) == 0 {
		return l.Items, loci.Page{}, err
	}
	return l.Items, loci.Page{NextCursor: q.cursor(key(l.Items[len(l.Items)-1]))}, nil
}
