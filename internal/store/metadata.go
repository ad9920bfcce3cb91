package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// loadOrCreateSecret returns a random secret of this database, and stores it at the first call.
func (s *Store) loadOrCreateSecret(ctx context.Context, name string) ([]byte, error) {
	text, err := SystemRead(ctx, s, "read a secret of the database", func(t *SystemTx) (text string, err error) {
		return text, t.t.conn.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{name}, []any{&text})
	})
	if err != nil {
		secret := make([]byte, 32)
		rand.Read(secret)
		text, err = System(ctx, s, "make a secret of the database", func(t *SystemTx) (text string, err error) {
			return text, t.t.conn.QueryRow(`INSERT INTO metadata (name, value) VALUES (?1, ?2)
				ON CONFLICT (name) DO UPDATE SET value = metadata.value RETURNING value`,
				[]any{name, hex.EncodeToString(secret)}, []any{&text})
		})
	}
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}
