package backup

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// libpqParameters are the address parameters that the tools of PostgreSQL know too.
var libpqParameters = []string{
	"host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs",
	"connect_timeout",
}

// libpqAddress returns an address for the tools of PostgreSQL, without the
// password, and the option that names its schema.
func libpqAddress(address string) (db, schema string) {
	u, err := url.Parse(address)
	if err != nil {
		return "ADDRESS", ""
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if path := q.Get("search_path"); path != "" {
		name, _, _ := strings.Cut(path, ",")
		schema = "--schema=" + shellQuote(name) + " "
	}
	for name := range q {
		if !slices.Contains(libpqParameters, name) {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return shellQuote(u.String()), schema
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// DumpCommand returns the command that backs a PostgreSQL database up to a file, and notes it in a data folder.
func DumpCommand(address, file, data string) string {
	db, schema := libpqAddress(address)
	note := ""
	if data != "" {
		note = " &&\n    touch " + shellQuote(filepath.Join(data, LastFile))
	}
	return fmt.Sprintf("pg_dump --format=custom --no-owner %s--file=%s %s%s", schema, shellQuote(file), db, note)
}

// RestoreCommand returns the command that restores a PostgreSQL database from a file.
func RestoreCommand(address, file string) string {
	db, _ := libpqAddress(address)
	return fmt.Sprintf("pg_restore --no-owner --exit-on-error --single-transaction --dbname=%s %s", db,
		shellQuote(file))
}
