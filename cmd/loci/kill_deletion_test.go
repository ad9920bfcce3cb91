package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// TestKillKeepsDeletions kills the server around the deletion of an atlas and while its rows are erased. An
// acknowledged deletion holds; another one happened as a whole or not at all. In the end no row is left.
func TestKillKeepsDeletions(t *testing.T) {
	t.Parallel()
	bin := testenv.Program(t)
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		k := &deletionKiller{testServer: newTestServer(t, bin, storeFlags(t, d)...)}
		k.start(t)
		k.fillAtlas(t) // which is kept
		for round := range rounds(t, 25) {
			k.fillAtlas(t)
			k.deleteUntilKilled(t, round%2 == 0, time.Duration(rand.IntN(100))*time.Millisecond)
			d.Exec(t, `UPDATE jobs SET due = 0`) // the lease of the killed server ends
			k.start(t)
			k.check(t)
			k.admin(t, "check")
			if t.Failed() {
				t.FailNow()
			}
		}
		left := func() string {
			return strings.Join(d.Query(t, `SELECT id FROM atlases WHERE workspace IS NULL UNION ALL SELECT kind FROM jobs
				UNION ALL SELECT id FROM memories WHERE atlas IN (SELECT row_id FROM atlases WHERE workspace IS NULL)`), " ")
		}
		waittest.Until(t, func() bool { return left() == "" })
		k.check(t)
		k.admin(t, "check")
		t.Logf("%d deletions were acknowledged, %d atlases are left", k.acknowledged, len(k.atlases))
		k.kill()
	})
}

// atlasSize is the number of memories of an atlas: their erasure takes many transactions.
const atlasSize = 100

// A deletionKiller has the atlases of a server that gets killed.
type deletionKiller struct {
	*testServer
	atlases      []filledAtlas
	deleted      []filledAtlas
	acknowledged int
}

type filledAtlas struct {
	id       loci.ID
	word     string
	memories []loci.ID
}

// fillAtlas adds an atlas whose memories have a word of their own.
func (k *deletionKiller) fillAtlas(t *testing.T) {
	t.Helper()
	var made loci.CreatedAtlas
	word := (&worker{n: len(k.atlases) + len(k.deleted)}).newWord()
	a := filledAtlas{word: word, memories: make([]loci.ID, atlasSize)}
	_, err := k.call("POST", "/v1/atlases", "", map[string]any{"name": "Wreck"}, &made)
	a.id = made.Atlas.ID
	errs := storetest.RunConcurrently(8, func(i int) error {
		for n := i; n < atlasSize; n += 8 {
			var m loci.CreatedMemory
			if _, err := k.call("POST", "/v1/memories", "", map[string]any{"atlasId": a.id,
				"content": fmt.Sprintf("%s lies at %d fathoms", a.word, n)}, &m); err != nil {
				return err
			}
			a.memories[n] = m.Memory.ID
		}
		return nil
	})
	for _, e := range append(errs, err) {
		if e != nil {
			t.Fatal(e)
		}
	}
	k.atlases = append(k.atlases, a)
}

// deleteUntilKilled deletes the newest atlas, and kills the server after a delay from the call or from the answer.
// Without an answer, a look at the atlas after the restart decides.
func (k *deletionKiller) deleteUntilKilled(t *testing.T, answered bool, after time.Duration) {
	t.Helper()
	server, last := k.running.Process, k.atlases[len(k.atlases)-1]
	if !answered {
		time.AfterFunc(after, func() { server.Kill() })
	}
	status, err := k.call("DELETE", "/v1/atlases/"+string(last.id), "", nil, &loci.Deleted{})
	time.Sleep(after)
	k.kill()
	if status != 0 && err != nil {
		t.Errorf("deletion: %v", err)
	}
	if status == 0 {
		k.start(t)
		defer k.kill()
		if status, err = k.call("GET", "/v1/atlases/"+string(last.id), "", nil, &loci.OneAtlas{}); err == nil {
			return
		} else if status != http.StatusNotFound {
			t.Errorf("a deletion without an answer: %v", err)
		}
	} else {
		k.acknowledged++
	}
	k.atlases, k.deleted = k.atlases[:len(k.atlases)-1], append(k.deleted, last)
}

// check compares what the server shows with the atlases that are left.
func (k *deletionKiller) check(t *testing.T) {
	t.Helper()
	find := func(word string) int {
		var out loci.FoundMemories
		if _, err := k.call("POST", "/v1/memories/search", "", map[string]any{"query": word, "mode": "keyword",
			"limit": 100}, &out); err != nil {
			t.Error(err)
		}
		return len(out.Memories)
	}
	for _, a := range k.atlases {
		var out loci.OneAtlas
		if _, err := k.call("GET", "/v1/atlases/"+string(a.id), "", nil, &out); err != nil ||
			out.Atlas.MemoryCount != atlasSize || find(a.word) != atlasSize {
			t.Errorf("an atlas that is left has %d memories: %v", out.Atlas.MemoryCount, err)
		}
	}
	for _, a := range k.deleted {
		for _, path := range []string{"/v1/atlases/" + string(a.id), "/v1/memories/" + string(a.memories[0]),
			"/v1/memories/" + string(a.memories[atlasSize-1])} {
			if status, err := k.call("GET", path, "", nil, &loci.Empty{}); status != http.StatusNotFound {
				t.Errorf("%s of a deleted atlas: %d %v", path, status, err)
			}
		}
		testenv.Equal(t, find(a.word), 0, a.word)
	}
	var status loci.AccountStatus
	if _, err := k.call("GET", "/v1/status", "", nil, &status); err != nil ||
		status.Totals.Memories != int64(len(k.atlases)*atlasSize) {
		t.Errorf("%d memories are counted in %d atlases: %v", status.Totals.Memories, len(k.atlases), err)
	}
}
