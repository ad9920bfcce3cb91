package store

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
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

// checkIdempotency looks for a stored response of the call. Every handle for writes calls it after the check of scope
// and role, and before that of the state. It returns a *storedResponse, an idempotency conflict, or nil.
func (t *Tx) checkIdempotency() error {
	o := t.actor.Idempotency
	if t.idempotencyChecked || o == nil {
		return nil
	}
	t.idempotencyChecked = true
	if err := t.conn.AdvisoryLock(string(t.actor.CredentialID) + "/" + o.Key); err != nil {
		return err
	}
	var r storedResponse
	var fingerprint, sealed []byte
	err := t.conn.QueryRow(
		`SELECT fingerprint, response, created FROM idempotency_keys WHERE credential = ?1 AND key = ?2
			AND created_at > ?3`,
		[]any{t.actor.CredentialID, o.Key, t.conn.Now - loci.Time(idempotencyTTL.Microseconds())},
		[]any{&fingerprint, &sealed, &r.created})
	switch {
	case errors.Is(err, sqldb.ErrNoRows):
		return nil
	case err != nil:
		return err
	case subtle.ConstantTimeCompare(fingerprint, o.Fingerprint[:]) != 1:
		return loci.NewError(loci.CodeIdempotencyConflict)
	}
	if r.body, err = decrypt(o.EncryptionKey, sealed); err == nil {
		r.body, err = decompress(r.body)
	}
	if err != nil {
		return fmt.Errorf("store: stored response: %w", err)
	}
	o.Replayed = true
	return &r
}

// LinkResponse adds records to those that the response of a write shows. The deletion of one of them deletes the stored
// response.
func (t *Tx) LinkResponse(ids ...loci.ID) { t.responseRecords = append(t.responseRecords, ids...) }

// deleteResponses deletes the stored responses that show a record.
func (t *Tx) deleteResponses(id loci.ID) error {
	_, err := t.exec(`DELETE FROM idempotency_keys
		WHERE (credential, key) IN (SELECT credential, key FROM idempotency_records WHERE record = ?1)`, id)
	return err
}

// storeResponse stores the response of a call that has an Idempotency-Key.
func (t *Tx) storeResponse(out any) error {
	o := t.actor.Idempotency
	if o == nil {
		return nil
	}
	if !t.idempotencyChecked {
		return errors.New("store: a write without a handle cannot be repeated safely")
	}
	o.Replayed = false
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	created := true
	if c, ok := out.(interface{ Created() bool }); ok {
		created = c.Created()
	}
	// An expired response under the same key may still be stored.
	if _, err := t.exec(`DELETE FROM idempotency_keys WHERE credential = ?1 AND key = ?2`, t.actor.CredentialID,
		o.Key); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO idempotency_keys (credential, key, fingerprint, created, response, created_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, t.actor.CredentialID, o.Key, o.Fingerprint[:], created,
		encrypt(o.EncryptionKey, compress(body)), t.conn.Now)
	slices.Sort(t.responseRecords)
	records := slices.DeleteFunc(slices.Compact(t.responseRecords), func(id loci.ID) bool { return id == "" })
	if err != nil || len(records) == 0 {
		return err
	}
	_, err = t.exec(`INSERT INTO idempotency_records (record, credential, key) SELECT list.value, ?1, ?2 FROM `+
		fmt.Sprintf(t.conn.Dialect.StringRows, 3), t.actor.CredentialID, o.Key, sqldb.EncodeStrings(records))
	return err
}

// Sizes of stored responses in bytes.
const (
	compressThreshold = 4 << 10 // longer ones are compressed
	maxResponseBytes  = 64 << 20
)

// compress compresses a long response with gzip. A response is JSON, which never starts with the magic bytes of gzip.
func compress(body []byte) []byte {
	if len(body) < compressThreshold {
		return body
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // fails only for an unknown level
	w.Write(body)                                   // a Buffer returns no errors
	w.Close()
	return b.Bytes()
}

// decompress reverses compress.
func decompress(packed []byte) ([]byte, error) {
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		return packed, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxResponseBytes))
}

// encrypt encrypts a stored response with AES-256-GCM: it cannot be read from the database without the credential.
func encrypt(key [32]byte, plain []byte) []byte {
	return newGCM(key).Seal(nil, nil, plain, nil)
}

func decrypt(key [32]byte, sealed []byte) ([]byte, error) {
	return newGCM(key).Open(nil, nil, sealed, nil)
}

func newGCM(key [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	g, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return g
}

// DeleteExpiredResponses deletes the stored responses older than idempotencyTTL.
func (t *SystemTx) DeleteExpiredResponses() (int64, error) {
	return t.t.exec(`DELETE FROM idempotency_keys WHERE created_at <= ?1`,
		t.t.conn.Now-loci.Time(idempotencyTTL.Microseconds()))
}
