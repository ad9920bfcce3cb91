package scope

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/seal"
)

// idempotencyTTL is the lifetime of a stored response.
const idempotencyTTL = 24 * time.Hour

// A storedResponse is the response of an earlier call with the same Idempotency-Key. As an error it ends the function
// of the repeated call.
type storedResponse struct {
	body    []byte
	created bool
}

func (r *storedResponse) Error() string { return "store: the call has a stored response" }

// decode unmarshals the body into out.
func (r *storedResponse) decode(out any) error {
	if err := json.Unmarshal(r.body, out); err != nil {
		return fmt.Errorf("store: stored response: %w", err)
	}
	if o, ok := out.(interface{ SetCreated(created bool) }); ok {
		o.SetCreated(r.created)
	}
	return nil
}

// withoutContent returns a response without the content of its memory, which the store has already: half of a busy
// database would be copies. No memory has an empty content. It lacks the titles of similar memories too, so that the
// response outlasts them.
func withoutContent(out any) any {
	switch o := out.(type) {
	case loci.CreatedMemory:
		o.Memory.Content, o.Memory.Similar = "", slices.Clone(o.Memory.Similar)
		for i := range o.Memory.Similar {
			o.Memory.Similar[i].Title = ""
		}
		return o
	case loci.OneMemory:
		o.Memory.Content = ""
		return o
	}
	return out
}

// restoreContent reverses withoutContent: it reads the content of the version that the response shows. Similar memories
// that were deleted meanwhile are left out.
func (s *Scope) restoreContent(out any) error {
	var m *loci.Memory
	switch o := out.(type) {
	case *loci.CreatedMemory:
		m = &o.Memory.Memory
		if err := s.restoreTitles(&o.Memory.Similar); err != nil {
			return err
		}
	case *loci.OneMemory:
		m = &o.Memory
	}
	if m == nil || m.Content != "" {
		return nil
	}
	var rowID int64
	err := s.Conn.QueryRow(`SELECT e.row_id, e.content FROM memories e WHERE e.id = ?1`, []any{m.ID},
		[]any{&rowID, &m.Content})
	if err == nil {
		m.Content, err = s.ContentAt(rowID, m.Version, m.Content)
	}
	if err != nil {
		return fmt.Errorf("store: content of a stored response: %w", err)
	}
	return nil
}

// restoreTitles reads the titles of similar memories.
func (s *Scope) restoreTitles(list *[]loci.Similarity) error {
	if len(*list) == 0 {
		return nil
	}
	var ids []loci.ID
	for _, m := range *list {
		ids = append(ids, m.ID)
	}
	titles := map[loci.ID]string{}
	err := s.Conn.QueryFew(`SELECT e.id, e.title FROM memories e JOIN atlases a ON a.row_id = e.atlas
		AND a.workspace IS NOT NULL WHERE e.id IN (SELECT list.value FROM `+fmt.Sprintf(s.Conn.Dialect.StringRows, 1)+`)`,
		[]any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
			var id loci.ID
			var title string
			err := r.Scan(&id, &title)
			titles[id] = title
			return err
		})
	*list = slices.DeleteFunc(*list, func(m loci.Similarity) bool { _, ok := titles[m.ID]; return !ok })
	for i := range *list {
		(*list)[i].Title = titles[(*list)[i].ID]
	}
	return err
}

// ContentAt returns the content of a version of a memory. It is a prefix of the content of the next version that stores
// its own, or of the present one. The shortest prefix_len up to there is its length.
func (s *Scope) ContentAt(rowID int64, version int, present string) (string, error) {
	text, whole := present, math.MaxInt32
	err := s.Conn.QueryRow(
		`SELECT v.version, v.content FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.content IS NOT NULL
			ORDER BY v.version LIMIT 1`,
		[]any{rowID, version}, []any{&whole, &text})
	if err != nil && !errors.Is(err, sqldb.ErrNoRows) {
		return "", err
	}
	var shortest *int
	err = s.Conn.QueryRow(
		`SELECT min(v.prefix_len) FROM versions v WHERE v.memory = ?1 AND v.version >= ?2 AND v.version < ?3`,
		[]any{rowID, version, whole}, []any{&shortest})
	if err == nil && shortest != nil {
		text = text[:min(*shortest, len(text))]
	}
	return text, err
}

// CheckIdempotency looks for a stored response of the call. Every handle for writes calls it after the check of scope
// and role, and before that of the state. It returns a *storedResponse, an idempotency conflict, or nil.
func (s *Scope) CheckIdempotency() error {
	o := s.Actor.Idempotency
	if s.idempotencyChecked || o == nil {
		return nil
	}
	s.idempotencyChecked = true
	key, former := s.responseKeys()
	if err := s.Conn.AdvisoryLock(former); err != nil {
		return err
	}
	var r storedResponse
	var fingerprint, sealed []byte
	err := s.Conn.QueryRow(
		`SELECT k.fingerprint, k.response, k.created FROM idempotency_keys k WHERE k.key IN (?1, ?2)
			AND k.created_at > ?3 AND NOT EXISTS (SELECT 1 FROM idempotency_records r JOIN memories e ON e.id = r.record
			JOIN atlases d ON d.row_id = e.atlas AND d.workspace IS NULL WHERE r.response = k.row_id)`,
		[]any{key, former, s.Conn.Now - loci.Time(idempotencyTTL.Microseconds())},
		[]any{&fingerprint, &sealed, &r.created})
	switch {
	case errors.Is(err, sqldb.ErrNoRows):
		return nil
	case err != nil:
		return err
	case subtle.ConstantTimeCompare(fingerprint, o.Fingerprint[:hashBytes]) != 1:
		return loci.NewError(loci.CodeIdempotencyConflict)
	}
	if r.body, err = seal.Open(o.EncryptionKey, sealed); err != nil {
		return fmt.Errorf("store: stored response: %w", err)
	}
	o.Replayed = true
	return &r
}

// hashBytes is the length of the hashes in the row of a stored response.
const hashBytes = 16

// responseKeys returns the key of a stored response: a hash of the credential and its Idempotency-Key. The former key,
// of responses stored before schema 5, is their text.
func (s *Scope) responseKeys() (key, former string) {
	former = string(s.Actor.CredentialID) + "/" + s.Actor.Idempotency.Key
	sum := sha256.Sum256([]byte(former))
	return base64.RawURLEncoding.EncodeToString(sum[:hashBytes]), former
}

// ReadRecord begins a record of each stored response of a read, beside those that it shows. The credential follows.
const ReadRecord = "read/"

// LinkResponse adds records to those that the response of a write shows. The deletion of one of them deletes the stored
// response.
func (t Tx) LinkResponse(ids ...loci.ID) {
	t.scope.responseRecords = append(t.scope.responseRecords, ids...)
}

// DeleteResponses deletes the stored responses that show one of some records.
func DeleteResponses(t *sqldb.Tx, records ...loci.ID) error {
	condition, arg := `= ?1`, any(sqldb.EncodeStrings(records))
	if len(records) == 1 { // PostgreSQL estimates that a list has a hundred
		arg = records[0]
	} else {
		condition = `IN (SELECT list.value FROM ` + fmt.Sprintf(t.Dialect.StringRows, 1) + `)`
	}
	_, err := t.Exec(`DELETE FROM idempotency_keys WHERE row_id IN (SELECT r.response FROM idempotency_records r
		WHERE r.record `+condition+`)`, arg)
	return err
}

// storeResponse stores the response of a call that has an Idempotency-Key.
func (s *Scope) storeResponse(out any) error {
	o := s.Actor.Idempotency
	if o == nil {
		return nil
	}
	if !s.idempotencyChecked {
		return errors.New("store: a write without a handle cannot be repeated safely")
	}
	o.Replayed = false
	body, err := json.Marshal(withoutContent(out))
	if err != nil {
		return err
	}
	created := true
	if c, ok := out.(interface{ Created() bool }); ok {
		created = c.Created()
	}
	key, former := s.responseKeys()
	// An expired response under the same key may still be stored.
	if _, err := s.Exec(`DELETE FROM idempotency_keys WHERE key IN (?1, ?2)`, key, former); err != nil {
		return err
	}
	// An account that deletes itself has no row any more.
	rowID, err := s.Conn.Insert(`INSERT INTO idempotency_keys (key, owner, fingerprint, created, response, created_at)
		VALUES (?1, COALESCE((SELECT row_id FROM users WHERE id = ?2), 0), ?3, ?4, ?5, ?6)`,
		[]any{key, s.Actor.UserID, o.Fingerprint[:hashBytes], created, seal.Seal(o.EncryptionKey, body), s.Conn.Now})
	slices.Sort(s.responseRecords)
	records := slices.DeleteFunc(slices.Compact(s.responseRecords), func(id loci.ID) bool { return id == "" })
	if err != nil || len(records) == 0 {
		return err
	}
	_, err = s.Exec(`INSERT INTO idempotency_records (record, response) SELECT list.value, ?1 FROM `+
		fmt.Sprintf(s.Conn.Dialect.StringRows, 2), rowID, sqldb.EncodeStrings(records))
	return err
}

// Limits of the stored responses of reads of a credential. A response counts responseOverhead more than its bytes, so
// that few rows reach the limit.
const (
	maxResponses     = 16 << 20
	responseOverhead = 16 << 10
)

// limitResponses drops the Idempotency-Key of a read whose credential has maxResponses of reads: it is safe to run
// again. The responses of writes are always stored.
func (s *Scope) limitResponses() error {
	record := ReadRecord + s.Actor.CredentialID
	s.LinkResponse(record)
	var stored int64
	err := s.Conn.QueryRow(`SELECT CAST(COALESCE(SUM(x.size), 0) AS BIGINT) FROM (SELECT length(k.response) + ?2 AS size
		FROM idempotency_records r JOIN idempotency_keys k ON k.row_id = r.response WHERE r.record = ?1 LIMIT ?3) AS x`,
		[]any{record, responseOverhead, maxResponses / responseOverhead}, []any{&stored})
	if stored >= maxResponses {
		s.DiscardResponse()
	}
	return err
}

// DiscardResponse drops the Idempotency-Key of the call, so that its response is not stored.
func (s *Scope) DiscardResponse() {
	s.Actor = s.Actor.WithoutIdempotency()
}

// DeleteExpiredResponses deletes the stored responses older than idempotencyTTL.
func (s System) DeleteExpiredResponses() (int64, error) {
	return s.scope.Exec(`DELETE FROM idempotency_keys WHERE created_at <= ?1`,
		s.scope.Conn.Now-loci.Time(idempotencyTTL.Microseconds()))
}
