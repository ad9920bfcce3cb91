package sqlite

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Contents describes the contents of a database.
type Contents struct {
	Engine string           `json:"engine"` // "sqlite 3.53.4"
	Schema int64            `json:"schema"`
	Counts map[string]int64 `json:"counts"` // rows by table, for countedTables
}

// countedTables are the tables whose rows a backup reports.
var countedTables = []string{"users", "api_keys", "workspaces", "atlases", "memories", "versions"}

// Copy writes a snapshot of the database in dir to a new file in the folder to. Writers continue meanwhile, as
// VACUUM INTO reads one snapshot. It calls progress with the bytes written and an estimate of the total.
func Copy(ctx context.Context, dir, to string, progress func(done, total int64)) error {
	path := filepath.Join(to, FileName)
	var failed error // of the copy, not of the database
	err := withFile(dir, func(c *conn) error {
		var pages, size, schema int64
		for pragma, n := range map[string]*int64{"page_count": &pages, "page_size": &size, "user_version": &schema} {
			if err := c.QueryRow(`PRAGMA `+pragma, nil, []any{n}); err != nil {
				return err
			}
		}
		if schema == 0 {
			return loci.Errorf(loci.CodeConflict, "there is no database of Loci in %s", dir)
		}
		watched, stop := context.WithCancel(ctx)
		var watcher sync.WaitGroup
		watcher.Go(func() {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					if info, err := os.Stat(path); err == nil {
						progress(min(info.Size(), pages*size), pages*size)
					}
				case <-watched.Done():
					return
				}
			}
		})
		defer watcher.Wait() // no call of progress follows the return
		defer stop()
		if failed = c.queryContext(ctx, `VACUUM INTO ?1`, []any{path}, func(sqldb.Row) error {
			return nil
		}); isCorrupt(failed) {
			return failed
		}
		return nil
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("%s: %w", path, failed)
	}
	return err
}

// Verify returns the damage of the database in dir, which SQLite's check of the file finds, or "". An error says that
// the check did not end.
func Verify(ctx context.Context, dir string) (damage string, err error) {
	err = withFile(dir, func(c *conn) error {
		return c.queryContext(ctx, `PRAGMA quick_check(1)`, nil, func(r sqldb.Row) error { return r.Scan(&damage) })
	})
	if damage == "ok" {
		damage = ""
	} else if damage != "" {
		damage = filepath.Join(dir, FileName) + ": " + damage
	}
	return orDamage(damage, err)
}

// orDamage returns the text of an error that is damage of a file. Every other error it returns as it is: a full or
// failing disk, or a caller that left, says nothing about the file.
func orDamage(damage string, err error) (string, error) {
	if sqldb.UnreadableReason(err) == "" || extendedCode(err)&0xff == codeIOError {
		return damage, err
	}
	return err.Error(), nil
}

// VerifyRows compares all rows of the database in dir with their checksums, and looks for the rows to which they refer.
// It returns the damage, or "", and the tables that have no checksums yet in an earlier schema.
func VerifyRows(ctx context.Context, dir string) (damage string, notChecked []string, err error) {
	first, wrong := "", 0
	err = withFile(dir, func(c *conn) error {
		schema, err := c.userVersion()
		if err != nil {
			return err
		}
		c.ctx, c.busyTimeout = ctx, math.MaxInt64 // rows of long texts take their time
		t := &sqldb.Tx{Conn: c, Ctx: ctx, Dialect: dialect}
		tables := sqldb.TablesOf(schema)
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if sqldb.ChecksumTables()[name] != nil && !tables[name].HasChecksums() {
				notChecked = append(notChecked, name)
			}
			for after := []any(nil); ctx.Err() == nil; {
				list, last, err := tables[name].Check(t, after, verifyBatchSize)
				if err != nil {
					return err
				}
				if wrong += len(list); first == "" && len(list) > 0 {
					first = "row " + list[0].Key + " of " + name
				}
				if after = last; after == nil {
					break
				}
			}
		}
		return ctx.Err()
	})
	if wrong > 0 {
		damage = fmt.Sprintf("%d rows do not match their checksums, or refer to rows that are gone: the first is %s",
			wrong, first)
	}
	damage, err = orDamage(damage, err)
	return damage, notChecked, err
}

// verifyBatchSize is the number of rows of one query of VerifyRows.
const verifyBatchSize = 1000

// ReadContents returns the engine, the schema and the row counts of the database in dir.
func ReadContents(ctx context.Context, dir string) (s Contents, err error) {
	s.Counts = map[string]int64{}
	err = withFile(dir, func(c *conn) error {
		var version string
		if err := c.QueryRow(`SELECT sqlite_version()`, nil, []any{&version}); err != nil {
			return err
		}
		s.Engine = "sqlite " + version
		if s.Schema, err = c.userVersion(); err != nil {
			return err
		}
		for _, table := range countedTables {
			var n int64
			exists, err := c.hasTable(table)
			if err != nil {
				return err
			}
			if !exists { // an older schema
				continue
			}
			if err := c.QueryRow(`SELECT count(*) FROM `+table, nil, []any{&n}); err != nil {
				return fmt.Errorf("count %s: %w", table, err)
			}
			s.Counts[table] = n
		}
		return nil
	})
	return s, err
}

func (c *conn) hasTable(name string) (exists bool, err error) {
	return exists, c.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1`, []any{name},
		[]any{&exists})
}

// ReadMetadata returns a value of the metadata of the database in dir, or "".
func ReadMetadata(dir, name string) (value string, err error) {
	err = withFile(dir, func(c *conn) error {
		return c.QueryRow(`SELECT COALESCE(max(value), '') FROM metadata WHERE name = ?1`, []any{name}, []any{&value})
	})
	return value, err
}

// A StoredFile is the file of an active attachment.
type StoredFile struct {
	ID     loci.ID
	Size   int64
	SHA256 string
}

// EachFile calls f with the files of the active attachments of the database in dir, which no process may have open, in
// the order of their rows. It returns the first error of f.
func EachFile(ctx context.Context, dir string, f func(StoredFile) error) error {
	var failed error // of f, not of the database
	err := withFile(dir, func(c *conn) error {
		if exists, err := c.hasTable("attachments"); err != nil || !exists {
			return err
		}
		return c.queryContext(ctx, `SELECT id, size, sha256 FROM attachments WHERE active ORDER BY row_id`, nil,
			func(r sqldb.Row) error {
				var file StoredFile
				if err := r.Scan(&file.ID, &file.Size, &file.SHA256); err != nil {
					return err
				}
				if failed = f(file); failed != nil {
					return sqldb.ErrStop
				}
				return nil
			})
	})
	if failed != nil {
		return failed
	}
	return err
}

// An ActiveKey is an API key that stays valid in a restored database.
type ActiveKey struct {
	ID        string    `json:"id"`
	Prefix    string    `json:"prefix"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt loci.Time `json:"createdAt"`
}

// EndSignIns deletes all sign-ins, grants and links of mails to users in the database in dir, which no process may have
// open. File tokens and signed addresses end with their secrets. Jobs do not delete the files of attachments that exist
// again, and commands of the operator do not use the file store of the former server. It returns the numbers of
// sign-ins and grants, and the API keys that stay valid. Afterwards the file has no write-ahead log beside it.
func EndSignIns(ctx context.Context, dir string) (signIns, grants int64, keys []ActiveKey, err error) {
	keys = []ActiveKey{}
	err = withFile(dir, func(c *conn) error {
		for _, q := range []string{`PRAGMA journal_mode = DELETE`, `PRAGMA synchronous = FULL`,
			`PRAGMA secure_delete = ON`, `PRAGMA foreign_keys = ON`} {
			if err := c.execContext(ctx, q); err != nil {
				return err
			}
		}
		hasChecksums := false
		if err := c.QueryRow(`SELECT count(*) FROM pragma_table_info('metadata') WHERE name = 'row_checksum'`, nil,
			[]any{&hasChecksums}); err != nil {
			return err
		}
		c.isOld = !hasChecksums
		if signIns, err = c.Exec(`DELETE FROM sign_ins`, nil); err != nil { // and the codes of their consents
			return err
		}
		if grants, err = c.Exec(`DELETE FROM grants`, nil); err != nil {
			return err
		}
		if _, err = c.Exec(`DELETE FROM tokens WHERE user_id IS NOT NULL`, nil); err != nil {
			return err
		}
		for _, q := range []string{`DELETE FROM metadata WHERE name = 'file_secrets'`,
			`UPDATE metadata SET value = json_remove(value, '$.blobs') WHERE name = 'settings' AND json_valid(value)`} {
			if _, err = c.Exec(q, nil); err != nil {
				return err
			}
		}
		if exists, err := c.hasTable("attachments"); err != nil {
			return err
		} else if exists {
			if _, err = c.Exec(`DELETE FROM jobs WHERE kind = 'delete_object'
				AND subject IN (SELECT id FROM attachments)`, nil); err != nil {
				return err
			}
		}
		return c.queryContext(ctx, `SELECT k.id, k.prefix, k.name, u.email, k.created_at
			FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.revoked_at = 0
			ORDER BY u.email, k.created_at, k.id`, nil, func(r sqldb.Row) error {
			var k ActiveKey
			err := r.Scan(&k.ID, &k.Prefix, &k.Name, &k.Email, &k.CreatedAt)
			keys = append(keys, k)
			return err
		})
	})
	return signIns, grants, keys, err
}
