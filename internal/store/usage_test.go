package store_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// TestUsageCountsLongQueues checks the counts of a queue that is too long to be counted by every call.
func TestUsageCountsLongQueues(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		clock := &fakeClock{}
		s := d.Open(t, store.Options{Clock: clock.time})
		ann, eve := user(t, s, "ann"), user(t, s, "eve")
		add(t, s, ann, "", "text")
		add(t, s, eve, "", "text of another user")
		check := func(what string, pending, failed int64, lastError string) {
			t.Helper()
			u, err := store.Read(ctx, s, ann, func(tx *store.Tx) (loci.AccountStatus, error) { return tx.Usage() })
			if err != nil || u.Indexing.Pending != pending || u.Indexing.Failed != failed ||
				u.Indexing.LastError != lastError {
				t.Errorf("%s: %+v, %v", what, u.Indexing, err)
			}
		}
		check("one memory", 1, 0, "")
		d.Exec(t, `INSERT INTO memories (id, workspace, atlas, title, content, hash, type, status, tags,
				source_name, source_uri, source_group, version, created_by, updated_by, created_at, updated_at)
			WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300)
			SELECT m.id || '-' || n, workspace, atlas, title, content, hash, type, status, tags, '', '', '',
				version, created_by, updated_by, created_at, updated_at
			FROM memories m, numbers WHERE content = 'text'`)
		d.Exec(t, `INSERT INTO embedding_queue (memory, workspace, owner, is_long, due, attempts, error, failed_at)
			SELECT row_id, workspace, 1, FALSE, 0, 0, '', 0 FROM memories
			WHERE row_id NOT IN (SELECT memory FROM embedding_queue)`)
		check("many memories", 301, 0, "")
		d.Exec(t, `UPDATE embedding_queue SET error = 'first', failed_at = 1 WHERE memory IN
			(SELECT row_id FROM memories WHERE content = 'text' ORDER BY row_id LIMIT 250)`)
		d.Exec(t, `UPDATE embedding_queue SET error = 'last', failed_at = 2 WHERE memory IN
			(SELECT row_id FROM memories WHERE content = 'text' ORDER BY row_id LIMIT 1)`)
		clock.add(6 * time.Second)
		check("failures", 301, 250, "last")
		d.Exec(t, `DELETE FROM embedding_queue WHERE memory IN
			(SELECT row_id FROM memories WHERE content = 'text' ORDER BY row_id LIMIT 210)`)
		check("a short queue", 91, 40, "first")
		d.Exec(t, `DELETE FROM embedding_queue`)
		check("an empty queue", 0, 0, "")
	})
}

// TestUsageCountsCandidatesThatWaitForTheActor compares the count with the list that a person is shown.
func TestUsageCountsCandidatesThatWaitForTheActor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		x := newSessions(t, d)
		narrowed := *x.ann
		narrowed.GrantedWorkspaces = []loci.ID{x.crew}
		nowhere := narrowed
		nowhere.GrantedWorkspaces = []loci.ID{}
		check := func(what string, actor *identity.Actor, want int64) {
			t.Helper()
			listed := 0
			u, err := store.Read(ctx, x.s, actor, func(tx *store.Tx) (loci.AccountStatus, error) {
				list, err := sessiondb.ListCandidates(tx, sessiondb.Filter{Status: "pending"},
					page.Request{Limit: loci.MaxWaiting})
				if listed = len(list.Items); err != nil {
					return loci.AccountStatus{}, err
				}
				return tx.Usage()
			})
			if err != nil || u.Waiting.Candidates != want || int64(listed) != want {
				t.Errorf("%s: %d of %d listed are counted, want %d, %v", what, u.Waiting.Candidates, listed, want, err)
			}
		}
		check("own ones of all workspaces", x.ann, 4)
		check("those of a member are not the owner's to count", x.eve, 2)
		check("a narrowed token", &narrowed, 2)
		check("a token without workspaces", &nowhere, 0)
		change := func(f func(*sessiondb.Session) error) {
			t.Helper()
			if _, err := store.Write(ctx, x.s, x.ann, func(tx *store.Tx) (loci.Empty, error) {
				s, err := sessiondb.Open(tx, x.own.ID, sessiondb.Own, store.InAnyState)
				if err == nil {
					err = f(s)
				}
				return loci.Empty{}, err
			}); err != nil {
				t.Fatal(err)
			}
		}
		change(func(s *sessiondb.Session) error { return s.SetArchived(true) })
		check("an archived session", x.ann, 3)
		change(func(s *sessiondb.Session) error { return s.SetArchived(false) })
		change(func(s *sessiondb.Session) error {
			_, err := s.SetCandidate(x.drawn, loci.CandidateDismissed, "", loci.ActionDismissed)
			return err
		})
		check("a dismissed one", x.ann, 3)
		d.Exec(t, `UPDATE atlases SET workspace = NULL WHERE id = '`+string(x.own.AtlasID)+`'`) // as a deletion begins
		check("a deleted atlas", x.ann, 2)
		d.Exec(t, `INSERT INTO candidates (id, session, workspace, atlas, user_id, content, title, type, tags, evidence,
				source_event_id, status, similar_to, created_at, updated_at)
			WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60)
			SELECT c.id || '-' || n, session, workspace, atlas, user_id, content, '', type, tags, '', '', status, '[]',
				created_at + n, updated_at
			FROM candidates c, numbers WHERE status = 'pending'`)
		check("many", x.ann, loci.MaxWaiting)
	})
}

func TestTotalsCountEachRecordOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		user(t, s, "bob")
		team(t, s, ann, nil)
		m := add(t, s, ann, "", "flushed")
		testenv.NoError(t, s.Flush(ctx, m.WorkspaceID))
		add(t, s, ann, "", "in the log")
		n := testenv.Must(store.SystemRead(ctx, s, "test", (*store.SystemTx).Totals))(t)
		if want := (store.Totals{Users: 2, Workspaces: 3, Memories: 2}); n != want {
			t.Errorf("%+v, want %+v", n, want)
		}
		if n := s.Index().WaitingRows(); n != -1 {
			t.Errorf("%d rows wait before the first count", n)
		}
		testenv.NoError(t, s.Index().FlushResting(ctx))
		if n := s.Index().WaitingRows(); n != 1 {
			t.Errorf("%d rows wait, want 1", n)
		}
	})
}
