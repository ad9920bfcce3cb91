// Package scratch makes temporary schemas in an empty PostgreSQL database, for measurements.
package scratch

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
)

// A Schema is a temporary schema.
type Schema struct {
	Address string // of the database, with the schema as its search_path
	Engine  string // "postgres 18.4"

	database      string // address of the database
	schema        string
	baselineBytes int64 // bytes of the database without the schema
}

// NewSchema creates a schema. It refuses a database that is not empty.
func NewSchema(ctx context.Context, address string) (*Schema, error) {
	s := &Schema{database: address, schema: "loci_scratch_" +
		strings.ReplaceAll(string(loci.NewID(time.Now())), "-", "")}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the database is malformed") // err shows the password
	}
	q := u.Query()
	q.Set("search_path", s.schema)
	u.RawQuery = q.Encode()
	s.Address = u.String()
	err = s.connect(ctx, func(c *pgx.Conn) error {
		if err := requireEmpty(ctx, c); err != nil {
			return err
		}
		var version string
		if err := c.QueryRow(ctx,
			`SELECT split_part(current_setting('server_version'), ' ', 1), pg_database_size(current_database())`).Scan(
			&version, &s.baselineBytes); err != nil {
			return err
		}
		s.Engine = "postgres " + version
		_, err := c.Exec(ctx, `CREATE SCHEMA `+s.schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// requireEmpty refuses a database with tables, views or sequences of users. Those of extensions are allowed.
func requireEmpty(ctx context.Context, c *pgx.Conn) error {
	var name string
	err := c.QueryRow(ctx,
		`SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
			AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
			AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
			AND d.deptype = 'e')
		ORDER BY c.oid LIMIT 1`).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = loci.Errorf(loci.CodeConflict, "the database is not empty, it has %s: name one that holds nothing, such "+
			"as a new one", name)
	}
	return err
}

// Bytes returns by how much the database has grown since it was empty.
func (s *Schema) Bytes(ctx context.Context) (bytes int64, err error) {
	err = s.connect(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&bytes)
	})
	return bytes - s.baselineBytes, err
}

// Drop deletes the schema and its tables.
func (s *Schema) Drop(ctx context.Context) error {
	return s.connect(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, `DROP SCHEMA IF EXISTS `+s.schema+` CASCADE`)
		return err
	})
}

func (s *Schema) connect(ctx context.Context, f func(*pgx.Conn) error) error {
	return postgres.Connect(ctx, s.database, f)
}
