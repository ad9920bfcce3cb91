package server

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// What a sample finds is in the log by kind and id, and in the metrics.
func TestSampleTellsOfFlawsWithoutTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := OpenLocal(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := remember(t, l, "The bridge stands on basalt.")
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	if err := sample(t.Context(), l.store, log); err != nil || out.Len() > 0 {
		t.Fatalf("a healthy store logs %s, %v", &out, err)
	}
	db, err := sql.Open(store.SQLDriver, "file:"+filepath.Join(dir, "loci.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE memories SET title = 'Granite'`); err != nil {
		t.Fatal(err)
	}
	before := flaws(t, l.store)
	if err := sample(t.Context(), l.store, log); err != nil {
		t.Fatal(err)
	}
	line := out.String()
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, `"kind":"rows","id":"`+m.ID+`"`) ||
		strings.Contains(line, "asalt") || strings.Contains(line, "ranite") {
		t.Errorf("the log says %s", line)
	}
	if now := flaws(t, l.store); now != before+1 {
		t.Errorf("the metric went from %v to %v", before, now)
	}
}

func remember(t *testing.T, l *Local, content string) loci.Memory {
	t.Helper()
	me, err := store.SystemRead(t.Context(), l.store, "test", func(x *store.SystemTx) (store.Login, error) { return x.UserByEmail(localOwner) })
	if err != nil {
		t.Fatal(err)
	}
	who := &loci.Actor{UserID: me.User.ID, Credential: loci.LocalCredential, CredentialID: me.User.ID}
	m, err := store.Write(context.Background(), l.store, who, func(tx *store.Tx) (loci.Memory, error) {
		shelf, err := tx.Shelf("")
		if err != nil {
			return loci.Memory{}, err
		}
		a, err := shelf.Pick(-1, loci.Unlimited)
		if err != nil {
			return loci.Memory{}, err
		}
		return a.AddMemory(loci.Memory{Title: content, Content: content, Type: loci.Note}, store.NewEntry(content, content))
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// flaws reads the metric.
func flaws(t *testing.T, st *store.Store) float64 {
	t.Helper()
	families, err := newMetrics(st, &readiness{check: st.Check, log: slog.New(slog.DiscardHandler)}).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "loci_check_findings_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("there is no such metric")
	return 0
}
