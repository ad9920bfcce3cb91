package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pressly/goose/v3"
	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// rewrite gives a memory another text.
func rewrite(t testing.TB, s *store.Store, actor *loci.Actor, id, content string) loci.Memory {
	t.Helper()
	m, err := store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Memory, error) {
		h, err := tx.Memory(id)
		if err != nil {
			return loci.Memory{}, err
		}
		next := h.Record()
		next.Content = content
		return h.Update(next)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// version reads what a memory was in a version, as a revert does.
func version(t testing.TB, s *store.Store, actor *loci.Actor, id string, n int) (loci.MemoryVersion, error) {
	t.Helper()
	return store.Write(ctx, s, actor, func(tx *store.Tx) (loci.MemoryVersion, error) {
		h, err := tx.Memory(id)
		if err != nil {
			return loci.MemoryVersion{}, err
		}
		return h.Version(n)
	})
}

// paged reads the texts of all versions, newest first, by pages of a size.
func paged(t testing.TB, s *store.Store, actor *loci.Actor, id string, limit int) (texts []string) {
	t.Helper()
	p := store.Page{Limit: limit}
	for {
		list, err := store.Read(ctx, s, actor, func(tx *store.Tx) (store.List[loci.MemoryVersion], error) {
			return tx.Versions(id, p)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list.Items {
			texts = append(texts, v.Content)
			p.After.At = loci.Time(v.Version)
		}
		if !list.HasMore {
			return texts
		}
	}
}

// continuation draws a text that goes on from another, begins it, or has nothing to
// do with it. Cuts fall between characters.
func continuation(t *rapid.T, texts []string) string {
	last := texts[len(texts)-1]
	more := rapid.SampledFrom([]string{"é", "日本", "🚢", "\n", " ", "a", "ab", "\u0301", "\r\n"}).Draw(t, "more")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0, 1:
		return last + more
	case 2:
		at := rapid.IntRange(0, len(last)).Draw(t, "cut")
		for !utf8.RuneStart((last + "x")[at]) {
			at--
		}
		return last[:at] + rapid.SampledFrom([]string{"", more}).Draw(t, "instead")
	case 3:
		return rapid.SampledFrom(texts).Draw(t, "earlier")
	case 4:
		return more + last
	}
	return more
}

func TestVersionsKeepTheirTextsWhateverComesLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		rapid.Check(t, func(r *rapid.T) {
			texts := []string{"日本語 é\n"}
			id := add(t, s, ann, "", texts[0]).ID
			for range rapid.IntRange(1, 24).Draw(r, "changes") {
				next := continuation(r, texts)
				if m := rewrite(t, s, ann, id, next); next != texts[len(texts)-1] {
					texts = append(texts, next)
				} else if m.Version != len(texts) {
					r.Fatalf("the same text is version %d of %d", m.Version, len(texts))
				}
			}
			for n, want := range texts {
				if v, err := version(t, s, ann, id, n+1); err != nil || v.Content != want || v.Version != n+1 {
					r.Fatalf("version %d is %q, want %q: %v", n+1, v.Content, want, err)
				}
			}
			for _, n := range []int{0, -1, len(texts) + 1, 1<<31 - 1} {
				if _, err := version(t, s, ann, id, n); !loci.Is(err, loci.CodeNotFound) {
					r.Fatalf("version %d of %d: %v", n, len(texts), err)
				}
			}
			slices.Reverse(texts)
			for limit := 1; limit <= len(texts)+1; limit++ {
				if got := paged(t, s, ann, id, limit); !slices.Equal(got, texts) {
					r.Fatalf("by pages of %d the texts are\n%q\nwant\n%q", limit, got, texts)
				}
			}
		})
	})
}

func TestAnAppendIsKeptAsALength(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", strings.Repeat("日本 ", 10_000))
		for i := range 50 {
			if _, err := newService(s).AppendMemory(ctx, ann,
				loci.AppendMemory{MemoryID: m.ID, Content: loci.Content(fmt.Sprint("line ", i))}); err != nil {
				t.Fatal(err)
			}
		}
		bytes := `SELECT CAST(coalesce(sum(octet_length(content)), 0) AS TEXT) FROM versions`
		if n := d.Query(t, bytes)[0]; n != "0" {
			t.Errorf("50 appends are kept in %s bytes", n)
		}
		if _, err := newService(s).VerifyMemory(ctx, ann,
			loci.VerifyMemory{MemoryID: m.ID, Confidence: new(loci.Confidence)}); err != nil {
			t.Fatal(err)
		}
		if n := d.Query(t, bytes)[0]; n != "0" {
			t.Errorf("a review is kept in %s bytes", n)
		}
		before, _ := lookUp(t, s, ann, m.ID)
		rewrite(t, s, ann, m.ID, "something else")
		if n := d.Query(t, bytes)[0]; n != fmt.Sprint(len(before.Content)) {
			t.Errorf("another text keeps %s bytes of %d", n, len(before.Content))
		}
		texts := paged(t, s, ann, m.ID, 7)
		if len(texts) != 53 || texts[1] != before.Content || texts[52] != m.Content ||
			texts[50] != m.Content+"\nline 0\nline 1" {
			t.Errorf("%d texts, of which the first is %d bytes", len(texts), len(texts[len(texts)-1]))
		}
	})
}

// createOlderDatabase makes the database as it was before memories had versions, with a
// memory of one user in it, and returns them.
func createOlderDatabase(t *testing.T, d storetest.Database) (*loci.Actor, loci.Memory) {
	t.Helper()
	db, dialect, folder, again := d.DB(t), goose.DialectPostgres, "migrations/postgres", ``
	if d.Dir != "" {
		dialect, folder, again = goose.DialectSQLite3, "migrations/sqlite", `PRAGMA user_version = 1`
	}
	p, err := goose.NewProvider(dialect, db, os.DirFS(folder), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(ctx, 1); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	at := loci.TimeOf(now)
	m := loci.Memory{ID: loci.NewID(now), WorkspaceID: loci.NewID(now), AtlasID: loci.NewID(now), Title: "Kept",
		Content: "kept over an upgrade 日本", Type: loci.TypeDecision,
		Tags: []string{"old"}, Status: loci.MemoryActive, Version: 1, CreatedBy: loci.NewID(now), CreatedAt: at,
		UpdatedAt: at}
	for _, q := range []string{
		fmt.Sprintf(
			`INSERT INTO users (id, email, email_folded, name, password, verified, referral, created_at, updated_at) VALUES ('%s', 'old@example.com', 'old@example.com', 'Old', '', TRUE, 'x', %d, %[2]d)`, m.CreatedBy, at),
		fmt.Sprintf(
			`INSERT INTO workspaces (id, name, personal_of, archived, secrets, created_at, updated_at) VALUES ('%s', 'Personal', '%s', FALSE, 'reject', %d, %[3]d)`, m.WorkspaceID, m.CreatedBy, at),
		fmt.Sprintf(
			`INSERT INTO members (user_id, workspace, role, joined_at) SELECT '%s', row_id, 'owner', %d FROM workspaces`, m.CreatedBy, at),
		fmt.Sprintf(
			`INSERT INTO atlases (id, workspace, name, keywords, description, inbox, archived, memories, bytes, created_at, updated_at)
			SELECT '%s', row_id, 'Inbox', '[]', '', TRUE, FALSE, 0, 0, %d, %[2]d FROM workspaces`, m.AtlasID, at),
		fmt.Sprintf(`INSERT INTO keyword_indexes (workspace, version, analyzer) SELECT row_id, 0, %d FROM workspaces`,
			search.AnalyzerVersion),
		fmt.Sprintf(
			`INSERT INTO memories (id, workspace, atlas, title, content, hash, type, status, tags, source_name, source_uri, source_group, version, created_by, created_at, updated_at)
			SELECT '%s', workspace, row_id, '%s', '%s', 7, 1, 0, '["old"]', '', '', '', 1, '%s', %d, %[5]d FROM atlases`, m.ID, m.Title, m.Content, m.CreatedBy, at),
		again,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	place := `INSERT INTO index_log (workspace, memory, atlas, type, status, tags, created_at, deleted, memories, bytes, document) SELECT workspace, row_id, atlas, type, status, tags, created_at, FALSE, 1, %d, $1 FROM memories`
	if _, err := db.Exec(fmt.Sprintf(place, len(m.Content)), search.Analyze(m.Title, m.Content).Encode()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return &loci.Actor{UserID: m.CreatedBy, Email: "old@example.com", CredentialKind: loci.CredentialKey,
		CredentialID: loci.NewID(now)}, m
}

func TestAnOlderDatabaseComesAlong(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		actor, m := createOlderDatabase(t, d)
		s := d.Open(t, store.Options{})
		if got, there := lookUp(t, s, actor, m.ID); !there || asJSON(got) != asJSON(m) {
			t.Fatalf("it is\n%s\nwant\n%s", asJSON(got), asJSON(m))
		}
		if by := d.Query(t, `SELECT updated_by FROM memories`); !slices.Equal(by, []string{m.CreatedBy}) {
			t.Errorf("changed last by %q", by)
		}
		present := loci.MemoryVersion{Version: 1, Title: m.Title, Content: m.Content, Type: m.Type, Tags: m.Tags,
			Status: m.Status, CreatedBy: m.CreatedBy, CreatedAt: m.CreatedAt}
		if got := versionsOf(t, s, actor, m.ID); asJSON(got) != asJSON([]loci.MemoryVersion{present}) {
			t.Errorf("the versions are %s", asJSON(got))
		}
		if f := searchKeywords(t, s, actor, "upgrade", store.Filter{}); f.KeywordCount != 1 ||
			f.Hits[0].Memory.ID != m.ID {
			t.Errorf("found %v", f)
		}
		after := rewrite(t, s, actor, m.ID, m.Content+", and goes on")
		if versions := versionsOf(t, s, actor, m.ID); len(versions) != 2 || versions[0].Content != m.Content ||
			versions[1].Content != after.Content {
			t.Errorf("after a change the versions are %s", asJSON(versions))
		}
		if err := s.Flush(ctx, m.WorkspaceID); err != nil {
			t.Fatal(err)
		}
		if f := searchKeywords(t, s, actor, "goes", store.Filter{}); f.KeywordCount != 1 {
			t.Errorf("after a change found %v", f)
		}
	})
}

// textAt is the text of a version where each fifth one begins anew.
func textAt(version int) string {
	first := version - version%5
	lines := []string{fmt.Sprint("日本 ", first)}
	for n := first + 1; n <= version; n++ {
		lines = append(lines, fmt.Sprint("line ", n))
	}
	return strings.Join(lines, "\n")
}

func TestVersionsAreOfOneStateWhileOthersWrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann := user(t, stores[0], "ann")
		id := add(t, stores[0], ann, "", textAt(1)).ID
		const last = 150
		errs := runConcurrently(4, func(i int) error {
			if i == 0 {
				for n := 2; n <= last; n++ {
					rewrite(t, stores[0], ann, id, textAt(n))
				}
				return nil
			}
			for seen := 0; seen < last; {
				p := store.Page{Limit: i * 2}
				for above := 0; ; {
					list, err := store.Read(ctx, stores[i%2], ann,
						func(tx *store.Tx) (store.List[loci.MemoryVersion], error) { return tx.Versions(id, p) })
					if err != nil {
						return err
					}
					for _, v := range list.Items {
						if v.Content != textAt(v.Version) || above > 0 && v.Version != above-1 {
							return fmt.Errorf("version %d after %d is %q", v.Version, above, v.Content)
						}
						above, seen = v.Version, max(seen, v.Version)
						p.After.At = loci.Time(v.Version)
					}
					if !list.HasMore {
						break
					}
				}
			}
			return nil
		})
		countDone(t, errs)
	})
}
