package grantdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

func TestClientOfAnyBytesIsNotFound(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		for _, id := range []string{"", "\x00", "a\x00b", "\xff\xfe", "unknown", "it's"} {
			if err := try(w.s, func(x grantdb.Tx) error {
				_, err := x.Client(id)
				return err
			}); !loci.Is(err, loci.CodeNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// Anyone can register clients, from many addresses.
func TestClientsAreBounded(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(t *testing.T, w world) {
		add := func(id string) {
			grants(t, w.s, func(x grantdb.Tx) error { return x.AddClient(grantdb.Client{ID: id}) })
			w.clock.advance(time.Second)
		}
		add("editor")
		w.token(t) // of editor, which is kept
		add("oldest")
		add("older")
		w.db.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9997)
			INSERT INTO oauth_clients (id, name, uri, redirect_uris, created_at, used_at)
			SELECT 'c' || i, '', '', '[]', %[1]d + i, %[1]d + i FROM n`, loci.TimeOf(w.clock.now())))
		for i, want := range []string{"10000", "10001", "10001", "10001"} { // one of them is editor
			if n := w.db.Query(t, `SELECT count(*) FROM oauth_clients`)[0]; n != want {
				t.Errorf("after %d registrations there are %s clients, want %s", i, n, want)
			}
			w.clock.advance(time.Minute)
			add(fmt.Sprint("new", i))
		}
		kept := w.db.Query(t, `SELECT id FROM oauth_clients WHERE id IN ('editor', 'oldest', 'older', 'new0', 'new3')
			ORDER BY id`)
		if fmt.Sprint(kept) != "[editor new0 new3]" {
			t.Errorf("%v are kept", kept)
		}
	})
}
