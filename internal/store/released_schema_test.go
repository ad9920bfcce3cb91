package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// releasedMigrations are the first digits of the SHA-256 of migrations that databases have run. A change of one would
// reach none of them: append another migration.
var releasedMigrations = map[string]string{
	"00001_schema.sql":        "9dcf6d273069f6aa",
	"00002_title_derived.sql": "2ad070de138eee32",
	"00003_mail.sql":          "fa15789081140099",
}

func TestReleasedMigrationsKeepTheirText(t *testing.T) {
	t.Parallel()
	for name, want := range releasedMigrations {
		text := testenv.Must(sqldb.MigrationFiles.ReadFile("migrations/" + name))(t)
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:8]); got != want {
			t.Errorf("%s has changed (%s): write another migration", name, got)
		}
	}
}

// TestDatabasesOfReleasedSchemasAreUpgraded opens databases that scripts/schema-fixture has made.
func TestDatabasesOfReleasedSchemasAreUpgraded(t *testing.T) {
	t.Parallel()
	files := testenv.Must(filepath.Glob("testdata/schema/*.db.gz"))(t)
	if len(files) == 0 {
		t.Fatal("no database of a released schema exists: run scripts/schema-fixture")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".db.gz"), func(t *testing.T) {
			t.Parallel()
			storetest.EachEmpty(t, func(t *testing.T, d storetest.Database) {
				d.Load(t, strings.TrimSuffix(file, ".db.gz"))
				checkReleasedDatabase(t, d)
			})
		})
	}
}

// checkReleasedDatabase upgrades a database of scripts/schema-fixture and reads what it has.
func checkReleasedDatabase(t *testing.T, d storetest.Database) {
	t.Helper()
	before := map[string]string{}
	for _, table := range []string{"users", "api_keys", "members", "workspaces", "atlases", "invitations", "memories",
		"versions", "vectors", "sessions", "checkpoints", "candidates", "messages", "agents", "attachments"} {
		if before[table] = d.Count(t, table); before[table] == "0" {
			t.Errorf("the database has no %s", table)
		}
	}
	s := d.Open(t, store.Options{})
	for table, n := range before {
		testenv.Equal(t, d.Count(t, table), n, table)
	}
	if status, err := d.SchemaStatus(ctx); err != nil || status.Current != status.Latest {
		t.Errorf("the schema is %+v, %v", status, err)
	}
	checkHealthy(t, s)
	ann := &identity.Actor{UserID: loci.ID(d.Query(t, `SELECT id FROM users`)[0]), Email: "ann@example.com",
		CredentialKind: identity.CredentialKey, CredentialID: loci.ID(d.Query(t, `SELECT id FROM api_keys`)[0])}
	r := searchKeywords(t, s, ann, "pilot boat low tide", loci.MemoryFilter{})
	if len(r.Hits) == 0 || !strings.HasSuffix(r.Hits[0].Memory.Content, "low tide at seven.") {
		t.Fatalf("found %+v", r.Hits)
	}
	m := r.Hits[0].Memory
	if m.Title != "Low tide" || m.Type != loci.TypeFact || !slices.Equal(m.Tags, []string{"sea"}) ||
		m.Evidence != "the tide table" || len(m.AttachmentIDs) != 1 {
		t.Errorf("the memory is %+v", m)
	}
	if list := versionsOf(t, s, ann, m.ID); !strings.HasSuffix(list[0].Content, "at six.") {
		t.Errorf("its versions are %+v", list)
	}
	set(t, s, ann, m.ID, func(m *loci.Memory) { m.Content += " It leaves at nine." })
	checkHealthy(t, s)
}
