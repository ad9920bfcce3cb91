package store

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loci-memory/loci"
)

// onceLife is how long the answer to a call with an Idempotency-Key is kept.
const onceLife = 24 * time.Hour

// replay ends a closure whose call was answered before.
type replay struct {
	answer  []byte
	created bool
}

func (r *replay) Error() string { return "store: answered before" }

// into writes the stored answer over out.
func (r *replay) into(out any) error {
	if err := json.Unmarshal(r.answer, out); err != nil {
		return fmt.Errorf("store: stored answer: %w", err)
	}
	if o, ok := out.(interface{ Replay(created bool) }); ok {
		o.Replay(r.created)
	}
	return nil
}

// once looks up whether the call was answered before. Every handle that grants
// a write calls it, so that access and role are checked first and the state
// after. It returns a replay, an idempotency conflict, or nil.
func (t *Tx) once() error {
	o := t.who.Once
	if t.asked || o == nil {
		return nil
	}
	t.asked = true
	if err := t.s.db.dialect().serialize(t.c, t.who.CredentialID+"/"+o.Key); err != nil {
		return err
	}
	var r replay
	var fingerprint, sealed []byte
	err := t.c.one(`SELECT fingerprint, answer, created FROM onces WHERE credential = ?1 AND name = ?2 AND made_at > ?3`,
		[]any{t.who.CredentialID, o.Key, t.now - loci.Time(onceLife.Microseconds())}, []any{&fingerprint, &sealed, &r.created})
	switch {
	case errors.Is(err, errNoRow):
		return nil
	case err != nil:
		return err
	case subtle.ConstantTimeCompare(fingerprint, o.Fingerprint[:]) != 1:
		return loci.Fail(loci.IdempotencyConflict)
	}
	if r.answer, err = open(o.Seal, sealed); err == nil {
		r.answer, err = unpack(r.answer)
	}
	if err != nil {
		return fmt.Errorf("store: stored answer: %w", err)
	}
	o.Replayed = true
	return &r
}

// Concerns names the record whose deletion takes the stored answer with it.
func (t *Tx) Concerns(id string) { t.resource = id }

// forget takes away the stored answers that concern a record.
func (t *Tx) forget(id string) error {
	_, err := t.exec(`DELETE FROM onces WHERE resource = ?1`, id)
	return err
}

// keep stores the answer of a call that has an Idempotency-Key.
func (t *Tx) keep(out any) error {
	o := t.who.Once
	if o == nil {
		return nil
	}
	if !t.asked {
		return errors.New("store: a write without a handle cannot be repeated safely")
	}
	o.Replayed = false
	answer, err := json.Marshal(out)
	if err != nil {
		return err
	}
	created := true
	if c, ok := out.(interface{ Created() bool }); ok {
		created = c.Created()
	}
	_, err = t.exec(`INSERT INTO onces (credential, name, fingerprint, resource, created, answer, made_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
		ON CONFLICT (credential, name) DO UPDATE SET fingerprint = excluded.fingerprint, resource = excluded.resource,
			created = excluded.created, answer = excluded.answer, made_at = excluded.made_at`,
		t.who.CredentialID, o.Key, o.Fingerprint[:], t.resource, created, seal(o.Seal, pack(answer)), t.now)
	return err
}

// Bounds of stored answers in bytes: from which on they are compressed, and how long none is.
const (
	packedAnswer  = 4 << 10
	longestAnswer = 64 << 20
)

// pack compresses a long answer with gzip. An answer is JSON, which never begins as gzip does.
func pack(answer []byte) []byte {
	if len(answer) < packedAnswer {
		return answer
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is known
	w.Write(answer)                                 // a buffer takes all
	w.Close()
	if b.Len() >= len(answer) {
		return answer
	}
	return b.Bytes()
}

// unpack returns the answer that pack was given.
func unpack(packed []byte) ([]byte, error) {
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		return packed, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, longestAnswer))
}

// seal encrypts a stored answer with AES-256-GCM: who reads the database
// without the credential learns nothing from it.
func seal(key [32]byte, plain []byte) []byte {
	g := gcm(key)
	nonce := make([]byte, g.NonceSize())
	rand.Read(nonce)
	return g.Seal(nonce, nonce, plain, nil)
}

func open(key [32]byte, sealed []byte) ([]byte, error) {
	g := gcm(key)
	if len(sealed) < g.NonceSize() {
		return nil, errors.New("too short")
	}
	return g.Open(nil, sealed[:g.NonceSize()], sealed[g.NonceSize():], nil)
}

func gcm(key [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	g, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return g
}

// DropOnces forgets stored answers that are too old to be asked for again.
func (t *SystemTx) DropOnces() (int64, error) {
	return t.t.exec(`DELETE FROM onces WHERE made_at <= ?1`, t.t.now-loci.Time(onceLife.Microseconds()))
}
