package integrity_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A damage is done behind the back of a store, in workspaces of its own.
type damage struct {
	fixture   fixture
	statement string // names in braces are those of the fixture
	found     string // the kinds that a check must report, with ! where nothing can be repaired
	says      string // part of a description
}

// names returns the tables, and the columns as table.column, that a statement damages.
func (c damage) names() (list []string) {
	head, _, _ := strings.Cut(strings.TrimPrefix(c.statement, writtenMark), " WHERE ")
	words := strings.Fields(head)
	if words[0] != "UPDATE" {
		return words[2:3]
	}
	for i, word := range words {
		if word == "=" {
			list = append(list, words[1]+"."+words[i-1])
		}
	}
	return append(list, words[1])
}

// changes returns damage by new values of columns, each with a part of its description.
func changes(f fixture, table, of, found string, values ...string) (list []damage) {
	for pair := range slices.Chunk(values, 2) {
		list = append(list, damage{f, "UPDATE " + table + " SET " + pair[0] + " WHERE " + of, found, pair[1]})
	}
	return list
}

// A damageTest is a store with damage of many kinds.
type damageTest struct {
	t   *testing.T
	d   storetest.Database
	s   *store.Store
	ann *identity.Actor
}

// A damaged record is made for one damage.
type damaged struct {
	names []string  // in statements, each followed by its value
	ids   []loci.ID // by which a check may report it: workspaces, and records
	whole func()    // checks that the repaired record works; may be nil
}

type fixture func(x *damageTest, name string) damaged

// flushedMemory is the second of three memories in a team, {memory}, whose documents are in segments.
func flushedMemory(x *damageTest, name string) damaged {
	return x.memories(name, func(crew loci.ID, ids []loci.ID) {
		flush(x.t, x.s, crew)
		set(x.t, x.s, x.ann, ids[0], func(m *loci.Memory) { m.Tags = []string{"dead", "before"} })
		flush(x.t, x.s, crew)
		add(x.t, x.s, x.ann, crew, "A sentence in the log, of "+name)
	})
}

// loggedMemory leaves the documents in the log.
func loggedMemory(x *damageTest, name string) damaged { return x.memories(name, nil) }

// supersededMemory has a replacement.
func supersededMemory(x *damageTest, name string) damaged {
	return x.memories(name, func(crew loci.ID, ids []loci.ID) {
		supersede(x.t, x.s, x.ann, ids[1], ids[0])
		flush(x.t, x.s, crew)
	})
}

// indexedMemory is found by its former words after the repair.
func indexedMemory(x *damageTest, name string) damaged {
	r := flushedMemory(x, name)
	r.whole = func() {
		list := searchKeywords(x.t, x.s, x.ann, "sentence number 1", loci.MemoryFilter{WorkspaceID: r.ids[3]}).Hits
		if !slices.ContainsFunc(list, func(h retrieve.Hit) bool { return h.Memory.ID == r.ids[1] }) {
			x.t.Errorf("%s: the document of a damaged row is lost", name)
		}
	}
	return r
}

// revisedMemory has four versions.
func revisedMemory(x *damageTest, name string) damaged {
	return x.memories(name, func(loci.ID, []loci.ID) {}, " é", " é")
}

func (x *damageTest) memories(name string, prepare func(crew loci.ID, ids []loci.ID), more ...string) damaged {
	x.t.Helper()
	crew := team(x.t, x.s, x.ann, nil)
	testenv.Must(newService(x.s).CreateAtlas(ctx, x.ann, loci.CreateAtlas{WorkspaceID: crew, Name: "Shed"}))(x.t)
	var ids []loci.ID
	for i := range 3 {
		m := add(x.t, x.s, x.ann, crew, fmt.Sprintf("é %s number %d has a sentence of its own", name, i))
		for _, text := range append([]string{" and more"}, more...) {
			set(x.t, x.s, x.ann, m.ID, func(m *loci.Memory) { m.Content += text })
		}
		ids = append(ids, m.ID)
	}
	waitForEmbeddings(x.t, x.s)
	if prepare != nil {
		prepare(crew, ids)
	}
	var rowID, workspace int64
	queryRow(x.t, x.s, `SELECT row_id, workspace FROM memories WHERE id = ?1`, ids[1], &rowID, &workspace)
	return damaged{[]string{"{memory}", fmt.Sprint(rowID), "{workspace}", fmt.Sprint(workspace)},
		append(ids, crew), func() {
			r := searchKeywords(x.t, x.s, x.ann, "sentence", loci.MemoryFilter{WorkspaceID: crew})
			if len(r.Hits) < 2 {
				x.t.Errorf("%s: a search finds %d memories", name, len(r.Hits))
			}
			add(x.t, x.s, x.ann, crew, "A zebra came afterwards to "+name)
			testenv.Len(x.t, searchKeywords(x.t, x.s, x.ann, "zebra", loci.MemoryFilter{WorkspaceID: crew}).Hits, 1,
				name, "a search finds", "of one later memory")
		}}
}

// filledSession has rows of every kind.
func filledSession(x *damageTest, _ string) damaged {
	crew := team(x.t, x.s, x.ann, nil)
	b := startSession(x.t, x.s, x.ann, crew, "Tidy the shed")
	b.fill("lanterns")
	before := b.detail()
	if before.Session.Counts != (loci.SessionCounts{Candidates: 3, Pending: 1, Checkpoints: 1, Units: 1, Events: 2}) {
		x.t.Fatalf("the session has %+v", before.Session.Counts)
	}
	var rowID int64
	queryRow(x.t, x.s, `SELECT row_id FROM sessions WHERE id = ?1`, b.id, &rowID)
	return damaged{[]string{"{session}", fmt.Sprint(rowID)}, []loci.ID{crew, b.id}, func() {
		after := b.detail()
		after.Session.Counts.Events = before.Session.Counts.Events // one damage is to delete an event
		if after.Session.Counts != before.Session.Counts || fmt.Sprint(after.Redactions) !=
			fmt.Sprint(before.Redactions) {
			x.t.Errorf("repaired to %+v %v", after.Session.Counts, after.Redactions)
		}
		counts := b.detail().Session.Counts
		b.event("next", loci.EventPrompt, "We count them again", nil)
		b.checkpoint("Counted them again")
		counts.Events, counts.Checkpoints = counts.Events+1, counts.Checkpoints+1
		testenv.Equal(x.t, b.detail().Session.Counts, counts, "the session has", "after more")
	}}
}

// account is a user {user} with a benefit, whose team {workspace} a grant reaches and has an invitation and a {guest}.
func account(x *damageTest, name string) damaged {
	of, guest := user(x.t, x.s, "Ä"+name), user(x.t, x.s, "guest"+name)
	crew := team(x.t, x.s, of, map[*identity.Actor]loci.Role{guest: loci.RoleMember})
	testenv.Must(newService(x.s).CreateInvitations(ctx, of, loci.CreateInvitations{WorkspaceID: crew,
		Emails: []loci.Email{"Later@example.com"}}))(x.t)
	consent, r := storetest.Consent(of.UserID, storetest.SignIn(x.t, x.s, of.UserID), "editor", crew)
	r.Code = testenv.Must(storetest.Authorize(x.s, consent))(x.t)
	testenv.Must(storetest.Redeem(x.s, r))(x.t)
	x.d.Write(x.t, `INSERT INTO benefits (id, user_id, days, expires_at, created_at, updated_at)
		VALUES ('`+string(loci.NewID(x.s.Now().Std()))+`', '`+string(of.UserID)+`', 30, 7, 1, 1)`)
	x.d.Write(x.t, `UPDATE users SET pro_until = 7 WHERE id = '`+string(of.UserID)+`'`)
	var workspace int64
	queryRow(x.t, x.s, `SELECT row_id FROM workspaces WHERE id = ?1`, crew, &workspace)
	values := func() []string {
		return x.d.Query(x.t, fmt.Sprintf(`SELECT u.email_folded || CAST(u.pro_until AS TEXT) || i.email_folded ||
			g.user_id FROM users u, invitations i, grant_workspaces g WHERE u.id = '%s' AND i.workspace = %d
			AND g.workspace = %d ORDER BY i.row_id`, of.UserID, workspace, workspace))
	}
	before := values()
	return damaged{[]string{"{user}", "'" + string(of.UserID) + "'", "{guest}", "'" + string(guest.UserID) + "'",
		"{workspace}", fmt.Sprint(workspace)}, []loci.ID{personal(x, of), of.UserID, crew, personal(x, guest)},
		func() { testenv.EqualSlices(x.t, values(), before, name, "the account is", "it was") }}
}

// mail returns a fixture of messages, whose recipient has an inbox after the repair.
func mail(inbox string) fixture {
	return func(x *damageTest, name string) damaged {
		m := newMailTest(x.t, x.d, x.s, name)
		messages := func() []string {
			return x.d.Query(x.t, `SELECT x.id || ' ' || x.thread_id || ' ' || CAST(x.created_at AS TEXT) FROM messages x
				JOIN workspaces w ON w.row_id = x.workspace WHERE w.id = '`+string(m.crew)+`' ORDER BY x.row_id`)
		}
		before := messages()
		return damaged{m.names(), []loci.ID{m.crew, personal(x, m.ann), personal(x, m.bob), m.direct, m.broadcast,
			m.reply, m.answer}, func() {
			testenv.EqualSlices(x.t, messages(), before, name, "the messages are", "they were")
			testenv.Equal(x.t, m.inbox(m.to), inbox, name, "the inbox is")
			m.send(m.from, loci.SendMessage{ToAgentID: m.to.AgentID, Content: "next"})
			testenv.Equal(x.t, m.inbox(m.to), "next unread, "+inbox, name, "the inbox is", "after one more")
		}}
	}
}

// damagedMail has messages whose damage stays.
func damagedMail(x *damageTest, name string) damaged {
	m := mail("")(x, name)
	m.names, m.ids, m.whole = append(m.names, "{name}", `'`+name+`'`), append(m.ids, loci.ID(name)), nil
	return m
}

func personal(x *damageTest, of *identity.Actor) (id loci.ID) {
	queryRow(x.t, x.s, `SELECT id FROM workspaces WHERE personal_of = ?1`, of.UserID, &id)
	return id
}

// storedFile is an active attachment {a} of a memory {m}.
func storedFile(x *damageTest, name string) damaged {
	f := newFileTestIn(x.t, x.d, x.s, name)
	return damaged{[]string{"{a}", `'` + string(f.active[0]) + `'`, "{m}", `'` + string(f.memories[0].ID) + `'`},
		[]loci.ID{f.crew, f.active[0],
			f.memories[0].ID}, func() {
			m := record(x.t, x.s, f.bob, f.memories[0].ID)
			testenv.EqualSlices(x.t, m.AttachmentIDs, f.active[:1], name, "the memory lists")
		}}
}

// Damage of derived data is repaired in a database without damage of source data. That stays, with what is counted from
// its tables.
func TestDamageIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	for name, isDerived := range map[string]bool{"derived": true, "source": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, d storetest.Database) { testDamage(t, d, isDerived) })
		})
	}
}

func testDamage(t *testing.T, d storetest.Database, isDerived bool) {
	s := d.Open(t, store.Options{Embedder: &storetest.FakeEmbedder{Name: "words"}})
	x := &damageTest{t, d, s, user(t, s, "ann")}
	var records []damaged
	owner := map[string]int{} // index in list by id
	list := damages
	if d.Dir != "" {
		list = slices.Concat(damages, mistyped)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(c damage) bool {
		return strings.Contains(c.found, "!") == isDerived
	})
	for i, c := range list {
		r := c.fixture(x, fmt.Sprint("case", i))
		for _, id := range r.ids {
			owner[string(id)] = i
		}
		records = append(records, r)
	}
	waitForEmbeddings(t, s)
	checkHealthy(t, s)
	for i, c := range list {
		x.damage(c.statement, records[i].names)
	}
	damagedRows := func() (rows []string) {
		for i, c := range list {
			if strings.Contains(c.found, "rows!") {
				rows = append(rows, d.Query(t, `SELECT CAST(hash AS TEXT) || ' ' || CAST(row_checksum AS TEXT) || title
						|| superseded_by || (SELECT max(o.supersedes) FROM memories o WHERE o.workspace = e.workspace)
						FROM memories e WHERE id = '`+string(records[i].ids[1])+`'`)...)
			}
		}
		return rows
	}
	before := damagedRows()
	for _, repair := range []bool{false, true} {
		x.compare(list, owner, repair, func(c damage) string { return c.found })
	}
	if after := damagedRows(); len(after) < 10 && !isDerived || !slices.Equal(after, before) {
		t.Errorf("a repair has changed damaged rows from %q to %q", before, after)
	}
	waitForEmbeddings(t, s)
	x.compare(list, owner, true, func(c damage) string { // what only a backup restores
		return strings.Join(slices.DeleteFunc(strings.Fields(c.found), func(kind string) bool {
			return !strings.HasSuffix(kind, "!")
		}), " ")
	})
	for _, r := range records {
		if r.whole != nil {
			r.whole()
		}
	}
	if n := d.Query(t, `SELECT id FROM workspaces w JOIN keyword_indexes x ON x.workspace = w.row_id
			WHERE x.generation = 0 AND EXISTS (SELECT 1 FROM vectors v WHERE v.workspace = w.row_id)`); len(n) > 0 {
		t.Errorf("the vectors of %v are not in use", n)
	}
}

// damage runs statements behind the back.
func (x *damageTest) damage(statements string, names []string) {
	x.t.Helper()
	junk, empty := `'\xff01'::bytea`, `''::bytea`
	if x.d.Dir != "" {
		junk, empty = `x'ff01'`, `x''`
	}
	replace := strings.NewReplacer(append([]string{"{junk}", junk, "{empty}", empty}, names...)...)
	statements, keepsChecksums := strings.CutPrefix(replace.Replace(statements), writtenMark)
	for _, statement := range strings.Split(statements, ";") {
		if keepsChecksums {
			x.d.Write(x.t, statement)
		} else {
			x.d.Exec(x.t, statement)
		}
	}
}

// compare compares the inconsistencies of each damage with the wanted kinds. Before a repair these have no mark.
func (x *damageTest) compare(list []damage, owner map[string]int, repair bool, want func(damage) string) {
	x.t.Helper()
	kinds, says := make([][]string, len(list)), make([]string, len(list))
	for _, f := range checkIntegrity(x.t, x.s, repair).Inconsistencies {
		i, ok := owner[f.ID]
		if text, _ := json.Marshal(f); !ok || strings.Contains(string(text), "sentence") || repair && !f.Repaired &&
			f.Repair != integrity.RestoreAdvice && !strings.HasSuffix(f.Repair, integrity.KeepAdvice) {
			x.t.Errorf("an inconsistency says %s", text)
		}
		if repair && !f.Repaired {
			f.Kind += "!"
		}
		kinds[i], says[i] = append(kinds[i], f.Kind), says[i]+f.Detail+"; "
	}
	for i, c := range list {
		wanted := want(c)
		if !repair {
			wanted = strings.Join(slices.Compact(strings.Fields(strings.ReplaceAll(wanted, "!", ""))), " ")
		}
		slices.Sort(kinds[i])
		if got := strings.Join(slices.Compact(kinds[i]), " "); got != wanted ||
			wanted != "" && !strings.Contains(says[i], c.says) {
			x.t.Errorf("case%d, %s, repair %v: found %q, not %q: %s", i, c.statement, repair, got, wanted, says[i])
		}
	}
}

// tablesQuery lists the columns of all tables as table.column.
func tablesQuery(d storetest.Database) string {
	if d.Dir == "" {
		return `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = current_schema()`
	}
	return `SELECT t.name || '.' || c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
}

// sourceColumns are the columns of source tables that nothing derives again, but for ids and checksums. Some are values
// of their time: the snapshot, title and memory of a session, what is similar to a candidate, names of keys and
// clients, a review with its text.
var sourceColumns = map[string]string{
	"agents":       "user_id key_id grant_id name source_name created_at updated_at last_seen_at",
	"api_keys":     "user_id name prefix hash created_at updated_at last_used_at revoked_at",
	"atlases":      "workspace name keywords description inbox archived archived_at archived_by created_at updated_at",
	"attachments":  "memory created_by file_name size mime_type sha256 stored_sha256 active created_at",
	"benefits":     "user_id days expires_at created_at updated_at",
	"checkpoints":  "session number summary created_at",
	"compilations": "session unit_key compiler outcome memory input_event_ids created_at",
	"candidates": "session unit content title_derived type tags confidence evidence source_event_id status memory " +
		"similar_to replaces created_at updated_at",
	"generations": "name",
	"grants": "user_id client_id client_name client_uri redirect_uri resource scope code_hash family_hash created_at " +
		"updated_at last_used_at expires_at",
	"grant_tokens":     "grant_id access_hash access_secret refresh_hash refresh_secret next created_at replaced_at",
	"grant_workspaces": "grant_id workspace",
	"invitations":      "workspace email role status invited_by expires_at created_at updated_at",
	"members":          "user_id workspace role joined_at",
	"memories": "workspace atlas title_derived content type status tags source_name source_uri source_group " +
		"source_position version verified_at verified_by evidence confidence valid_until superseded_by created_by " +
		"agent_id session_id updated_by created_at updated_at archived_at",
	"messages":      "workspace agent to_agent subject content reply_to created_at",
	"metadata":      "name value",
	"oauth_clients": "name uri redirect_uris created_at used_at",
	"policies": "user_id workspace enabled paused mode atlas adapters_off min_length exclude_paths keep_turns_since " +
		"created_at updated_at",
	"receipts":         "message agent number status updated_at",
	"redaction_audits": "session event_id rules total occurred_at created_at",
	"referrals":        "referrer invitee verified_at activated_at created_at",
	"session_events":   "session event_id type unit_key role content metadata occurred_at created_at",
	"session_history":  "session step action user_id agent_id candidate_id unit_id memory_id event_id created_at",
	"sessions": "workspace atlas user_id agent_id kind adapter external_id source_name task title status archived " +
		"ends summary snapshot memory ended_at created_at updated_at",
	"sync_pairs": "user_id account remote_workspace local_id remote_id local_state remote_state writing pending sent " +
		"sent_after",
	"units": "session key title status memory created_at updated_at",
	"users": "email name password verified disabled plan referral_code created_at updated_at",
	"versions": "memory version title title_derived content prefix_len type tags status verified_at verified_by " +
		"evidence confidence valid_until created_by created_at",
	"workspaces": "name personal_of archived archived_at archived_by secrets created_at updated_at",
}

// A new table is source, derived or transient, a new column source or derived, and damage of what is derived is tried.
func TestEveryTableHasAClass(t *testing.T) {
	t.Parallel()
	kinds := integrity.Kinds()
	tried := map[string]bool{}
	for _, c := range damages {
		for _, name := range c.names() {
			tried[name] = tried[name] || !strings.HasSuffix(c.found, "!")
		}
	}
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		d.Open(t, store.Options{})
		columns := map[string]bool{}
		for _, name := range d.Query(t, tablesQuery(d)) {
			table, _, _ := strings.Cut(name, ".")
			columns[name], columns[table] = true, true
			_, column, _ := strings.Cut(name, ".")
			x, ok := integrity.Tables[table]
			if !ok && !strings.HasPrefix(table, "goose_") {
				t.Errorf("Tables lacks the table %s", table)
			}
			isSource := slices.Contains(strings.Fields(sourceColumns[table]+" row_id id row_checksum"), column)
			if ok && x.Class == integrity.Source && isSource == (x.Columns[column] != "") {
				t.Errorf("%s must be either a source column, or one of Tables that a repair derives again", name)
			}
		}
		check := func(name, kind string) {
			if !columns[name] || !slices.Contains(kinds, kind) || !tried[name] {
				t.Errorf("%s of the kind %q: it exists: %v, is rebuilt: %v, and its damage is tried: %v", name, kind,
					columns[name], slices.Contains(kinds, kind), tried[name])
			}
		}
		for name, x := range integrity.Tables {
			if x.Class == integrity.Derived {
				check(name, x.Kind)
			} else if x.Kind != "" || !columns[name] {
				t.Errorf("the table %s is %+v, and exists: %v", name, x, columns[name])
			}
			for column, kind := range x.Columns {
				check(name+"."+column, kind)
			}
		}
	})
}
