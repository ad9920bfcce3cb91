package integrity_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Checks, purges and repairs that run beside writes, flushes and searches find no false inconsistency, cause none, and
// lose no memory.
func TestInspectingAndPurgingBesideWritersIsSafe(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		server, operator := d.Open(t, store.Options{}), d.Open(t, store.Options{})
		ann := user(t, server, "ann")
		at := add(t, server, ann, "", "The first one").WorkspaceID
		var all sync.WaitGroup
		made, over := make(chan string, 1000), make(chan bool)
		loop := func(f func(i int) error) {
			all.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-over:
						return
					default:
					}
					if err := f(i); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for w := range 2 {
			loop(func(i int) error {
				m, err := tryAdd(server, ann, "", fmt.Sprintf("Note %d of writer %d beside others", i, w),
					func(m *loci.Memory) { m.Title = "A note" })
				if err != nil {
					return err
				}
				_, err = store.Write(ctx, server, ann, func(tx *store.Tx) (loci.Memory, error) {
					h, err := memorydb.Open(tx, m.ID, store.ToMove)
					if err != nil {
						return m, err
					}
					next := h.Record()
					next.Content += ", with more"
					return h.Update(next, nil)
				})
				select {
				case made <- string(m.ID):
				default:
				}
				return err
			})
		}
		loop(func(int) error {
			if err := server.Flush(ctx, at); !loci.Is(err, loci.CodeUnavailable) { // the index changes often
				return err
			}
			return nil
		})
		for range 2 {
			checkHealthy(t, operator)
			id := loci.ID(<-made)
			_, err := purge.New(operator).PurgeMemory(ctx, id, true)
			for range 3 {
				if loci.Is(err, loci.CodeUnavailable) { // the other writers kept it waiting for ten seconds
					_, err = purge.New(operator).PurgeMemory(ctx, id, true)
				}
			}
			if err != nil {
				t.Error(err)
			}
			for _, damage := range []string{`UPDATE atlases SET memories = 0`, `DELETE FROM minhash_bands`,
				`UPDATE memories SET hash = 0`, `DELETE FROM segment_pages`, `DELETE FROM index_log`} {
				// Each in a transaction of its own: together they would wait for writers that wait for them.
				err = errors.Join(err, writeRaw(operator, func(exec func(string, ...any) error) error {
					return exec(damage)
				}))
			}
			if sum := checkIntegrity(t, operator, true); err != nil || sum.Found < 3 || sum.Found != sum.Repaired {
				t.Error(sum.Inconsistencies, err)
			}
		}
		close(over)
		all.Wait()
		sum := checkHealthy(t, server)
		if r := searchKeywords(t, server, ann, "others",
			loci.MemoryFilter{}); r.KeywordCandidates != int(sum.Memories)-1 {
			t.Errorf("%d of %d memories are found", r.KeywordCandidates, sum.Memories-1)
		}
	})
}
