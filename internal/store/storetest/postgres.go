package storetest

import (
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
)

// NewPostgresDatabase makes a PostgreSQL database for the length of the test, where Each makes schemas.
func NewPostgresDatabase(t testing.TB) Database {
	t.Helper()
	address := os.Getenv(servers["pg18"])
	if address == "" {
		t.Skipf("%s names no server", servers["pg18"])
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server, name := Database{Address: address}, "own_"+strings.ToLower(rand.Text())
	server.Exec(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { server.Exec(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return Database{Engine: "pg18", Address: u.String()}
}

// NewPostgresSchema makes another empty schema on the PostgreSQL server of an engine.
func NewPostgresSchema(t testing.TB, engine string) Database {
	t.Helper()
	return Database{Engine: engine, Address: NewSchema(t, os.Getenv(servers[engine]))}
}
