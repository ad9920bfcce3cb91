package store_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/query"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// fillStore gives a person three workspaces beside those of others, with memories, atlases, keys and invitations.
func fillStore(t *testing.T, s *store.Store, each int) (ann *identity.Actor, crew loci.ID) {
	t.Helper()
	ann, eve := user(t, s, "ann"), user(t, s, "eve")
	crew = team(t, s, ann, map[*identity.Actor]loci.Role{eve: loci.RoleAdmin})
	places := []loci.ID{"", crew, team(t, s, ann, nil)}
	for i := range each {
		for _, w := range places {
			add(t, s, ann, w, fmt.Sprint("common words number ", i), func(m *loci.Memory) {
				m.Tags = []string{"b", "c", "a"}
			})
		}
		add(t, s, eve, "", fmt.Sprint("common words of another number ", i))
		if i == each/2 {
			for _, w := range places[1:] {
				if err := s.Flush(ctx, w); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return ann, crew
}

// multiplyRows makes PostgreSQL's statistics worth something: with few rows every plan is a good one.
func multiplyRows(t *testing.T, d storetest.Database) {
	t.Helper()
	if d.Address == "" {
		return
	}
	d.Exec(t,
		`INSERT INTO memories (id, workspace, atlas, title, content, hash, type, status, tags,
			source_name, source_uri, source_group, version, created_by, updated_by, created_at, updated_at)
		SELECT m.id || '-' || n, workspace, atlas, title, content, hash, type, n % 3, tags,
			'', '', '', version, created_by, updated_by, created_at - n * 1000000, updated_at
		FROM memories m, generate_series(1, 50) n`)
	d.Exec(t, `ANALYZE `+strings.Join(tables, ", ")) // not those of other tests, which vanish meanwhile
}

// readQueries are all the lists and searches of an actor.
func readQueries(crew, atlas loci.ID, after page.Key) map[string]func(*store.Tx) error {
	p := page.Request{Limit: 5, After: after}
	list := func(f loci.MemoryFilter) func(*store.Tx) error {
		return func(tx *store.Tx) error { _, err := memorydb.List(tx, f, p); return err }
	}
	changes := func(f loci.MemoryFilter) func(*store.Tx) error {
		return func(tx *store.Tx) error { _, err := memorydb.ListChanged(tx, f, p); return err }
	}
	find := func(f loci.MemoryFilter) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			_, err := storetest.Search(tx, retrieve.Query{Keywords: query.Parse("common number")}, f, "", 5)
			return err
		}
	}
	all := []loci.Include{loci.Include(loci.MemoryArchived), loci.Include(loci.MemorySuperseded)}
	out := map[string]func(*store.Tx) error{
		"atlases": func(tx *store.Tx) error {
			_, err := tx.Atlases(store.AtlasFilter{Archived: true}, p)
			return err
		},
		"atlases of one place": func(tx *store.Tx) error {
			_, err := tx.Atlases(store.AtlasFilter{WorkspaceID: crew}, p)
			return err
		},
		"workspaces":      func(tx *store.Tx) error { _, err := tx.Workspaces(true, p); return err },
		"members":         func(tx *store.Tx) error { _, err := tx.Members(crew, p); return err },
		"invitations":     func(tx *store.Tx) error { _, err := tx.Invitations(crew, p); return err },
		"own invitations": func(tx *store.Tx) error { _, err := tx.PendingInvitations(p); return err },
		"keys":            func(tx *store.Tx) error { _, err := tx.Keys(p); return err },
		"usage":           func(tx *store.Tx) error { _, err := tx.Usage(); return err },
		"memory":          func(tx *store.Tx) error { memorydb.Record(tx, atlas); return nil },
	}
	for name, f := range map[string]loci.MemoryFilter{
		"all": {}, "place": {WorkspaceID: crew}, "atlas": {AtlasID: atlas}, "states": {Include: all},
		"kinds and tags":     {Type: []loci.MemoryType{loci.TypeNote, loci.TypeFact}, Tags: loci.Tags{"a", "b"}},
		"states of an atlas": {AtlasID: atlas, Include: all},
		"times":              {Since: "2020-01-01", Until: "0d"},
	} {
		out["list "+name], out["find "+name], out["changes "+name] = list(f), find(f), changes(f)
	}
	return out
}

func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, crew := fillStore(t, s, 20)
		list, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Memory], error) {
			return memorydb.List(tx, loci.MemoryFilter{WorkspaceID: crew}, page.Request{Limit: 8})
		})
		if err != nil {
			t.Fatal(err)
		}
		m := list.Items[7]
		multiplyRows(t, d)
		narrowed := *ann
		narrowed.GrantedWorkspaces = []loci.ID{crew, m.WorkspaceID}
		s.Close()
		s = d.Open(t, store.Options{}) // whose index must be read
		var sent []store.Statement
		store.TraceStatements(s, func(st store.Statement) { sent = append(sent, st) })
		for name, f := range readQueries(crew, m.AtlasID, page.Key{At: m.CreatedAt, ID: m.ID}) {
			for _, actor := range []*identity.Actor{ann, &narrowed} {
				sent = nil
				if _, err := store.Read(ctx, s, actor, func(tx *store.Tx) (loci.Empty, error) {
					return loci.Empty{}, f(tx)
				}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if len(sent) == 0 && !(name == "own invitations" && actor == &narrowed) { // a token has none
					t.Errorf("%s sent nothing", name)
				}
				for _, st := range append([]store.Statement(nil), sent...) {
					checkPlan(t, s, name, st)
				}
			}
		}
		s.Close()
		later := time.Now().AddDate(1, 0, 0) // nothing happened in the weeks that are counted
		s = d.Open(t, store.Options{Clock: func() time.Time { return later }})
		sent = nil
		store.TraceStatements(s, func(st store.Statement) { sent = append(sent, st) })
		if _, err := store.Read(ctx, s, ann, func(tx *store.Tx) ([]loci.ActivityWeek, error) {
			return memorydb.Activity(tx, crew)
		}); err != nil || len(sent) != 1 {
			t.Fatal(sent, err)
		}
		checkPlan(t, s, "activity", sent[0])
	})
}

// tables may not be walked through, whatever they hold.
var tables = []string{"memories", "index_log", "members", "atlases", "workspaces", "users", "invitations", "api_keys",
	"segments", "segment_pages", "keyword_indexes", "idempotency_keys", "idempotency_records", "metadata", "vectors",
	"embedding_queue", "sign_ins", "oauth_clients", "oauth_codes", "grants", "grant_workspaces", "grant_tokens",
	"sessions", "checkpoints", "units", "candidates", "session_events", "session_history", "redaction_audits",
	"compilations", "policies", "agents", "messages", "receipts", "jobs"}

// checkPlan fails if a statement scans a table, or if a list of memories sorts more than the heads of its ranges.
func checkPlan(t *testing.T, s *store.Store, name string, st store.Statement) {
	t.Helper()
	plan, err := store.QueryPlan(s, st)
	if err != nil || len(plan) == 0 {
		t.Errorf("%s: %s: %v", name, st.Text, err)
	}
	text := strings.Join(plan, "\n")
	complain := func(format string, args ...any) {
		t.Errorf("%s: %s\n%s\n%s", name, fmt.Sprintf(format, args...), st.Text, text)
	}
	for _, line := range plan {
		for _, table := range tables {
			if isFullScan(line, table) {
				complain("walks through %s", table)
			}
		}
	}
	heads := len(pageSubquery.FindAllString(st.Text, -1))
	index := "memories_newest"
	if strings.Contains(st.Text, "h.updated_at DESC") {
		index = "memories_changed"
	}
	if strings.Contains(st.Text, "h.atlas =") {
		index += "_of_atlas"
	}
	index += " "
	if n := strings.Count(text, index); n != heads {
		complain("%d of %d heads use %s", n, heads, index)
	}
	if n := strings.Count(text, "TEMP B-TREE"); heads > 0 && n > 1 { // of the heads together
		complain("sorts %d times", n)
	}
	if n := strings.Count(text, "TEMP B-TREE"); sessionList.MatchString(st.Text) && n > 2 { // a page, then its columns
		complain("sorts %d times", n)
	}
	if n := scannedRows(plan); n > 300 { // fill makes 4,000 memories and a log of 10 rows a place
		complain("looks at %d rows", n)
	}
}

// pageSubquery finds the places where a list reads the beginning of a range.
var pageSubquery = regexp.MustCompile(`LIMIT (\?[0-9]+\) AS head|1\) AS newest)\b`)

// sessionList finds the lists of sessions and candidates.
var sessionList = regexp.MustCompile(`AS page\b`)

var scanPattern = regexp.MustCompile(`Scan.*\(actual rows=([0-9.]+) loops=([0-9]+)\)`)

// scannedRows counts the rows that PostgreSQL took from tables.
func scannedRows(plan []string) int {
	n := 0.
	for _, line := range plan {
		if m := scanPattern.FindStringSubmatch(line); m != nil {
			rows, _ := strconv.ParseFloat(m[1], 64)
			loops, _ := strconv.ParseFloat(m[2], 64)
			n += rows * loops
		}
	}
	return int(n)
}

// aliases are the names that queries give to tables.
var aliases = map[string]string{"memories": "h e", "index_log": "c", "members": "m x", "atlases": "a",
	"workspaces": "w e", "users": "u", "invitations": "i", "api_keys": "k", "keyword_indexes": "x",
	"grants": "g", "grant_tokens": "p", "sessions": "s", "units": "u", "candidates": "c", "session_events": "v o e",
	"policies": "p", "agents": "g o", "messages": "x", "receipts": "r",
	"jobs": "j"}

// isFullScan reports whether a line of a plan reads all of a table or of an index.
func isFullScan(line, table string) bool {
	line = strings.TrimSpace(line)
	if strings.Contains(line, "Seq Scan on "+table) {
		return true
	}
	names := append(strings.Fields(aliases[table]), table)
	for _, n := range names {
		if line == "SCAN "+n || strings.HasPrefix(line, "SCAN "+n+" ") {
			return true
		}
	}
	return false
}
