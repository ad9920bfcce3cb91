package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A turn costs a few look-ups, however many jobs are due.
func TestTurnsOfJobsUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		now, later := time.Now().UnixMicro(), time.Now().Add(30*time.Minute).UnixMicro()
		d.Exec(t, fmt.Sprintf(`WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n
				WHERE value < 100000)
			INSERT INTO jobs (kind, owner, subject, due, attempts, error, created_at)
			SELECT 'mail', CASE WHEN n.value = 100000 THEN 'zoe' WHEN n.value %% 1000 = 0 THEN 'waiting ' || n.value
				ELSE 'spam' END, 'mail ' || n.value, CASE WHEN n.value %% 1000 = 0 AND n.value < 100000 THEN %d ELSE %d END,
				0, '', 0 FROM n`, later, now))
		if d.Address != "" {
			d.Exec(t, `ANALYZE jobs`)
		}
		var mu sync.Mutex
		var sent []store.Statement
		store.TraceStatements(s, func(st store.Statement) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, st)
		})
		var ran []string
		done, checked := make(chan struct{}), make(chan struct{})
		q := jobdb.New(s.DB())
		q.Handle("mail", func(_ context.Context, j jobdb.Job) error {
			if ran = append(ran, j.Subject); len(ran) < 4 {
				return nil
			}
			close(done)
			<-checked
			return &jobdb.PauseError{Pause: time.Hour}
		})
		q.Start(context.WithoutCancel(t.Context()))
		t.Cleanup(q.Stop)
		<-done
		defer close(checked)
		if at := slices.Index(ran, "mail 100000"); at < 0 || at > 2 {
			t.Errorf("the job of another owner ran as number %d of %q", at, ran)
		}
		texts := map[string]bool{}
		mu.Lock()
		list := slices.Clone(sent)
		mu.Unlock()
		for _, st := range list {
			if strings.Contains(st.Text, "jobs") && !texts[st.Text] {
				texts[st.Text] = true
				checkPlan(t, s, "turn", st)
			}
		}
		if len(texts) < 4 { // look, turn, lease, save
			t.Errorf("checked %d statements: %v", len(texts), texts)
		}
	})
}
