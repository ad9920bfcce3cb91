package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// A fixture is a Loci database with a key of its user.
type fixture struct {
	Dir  string            `json:"-"`
	DB   string            `json:"db"`  // address of PostgreSQL; empty means SQLite in Dir
	Key  string            `json:"key"` // of ann
	Keys map[string]string `json:"keys"`
	IDs  []string          `json:"ids"`
	Load map[string]float64

	embedder []string // environment for its embedder; nil is for the silent stub
}

func (p *fixture) flags() []string {
	if p.DB != "" {
		return []string{"--db", p.DB, "--data", p.Dir}
	}
	return []string{"--data", p.Dir}
}

// fixture returns the loaded database with that name, from the cache if possible. Otherwise fill loads it through the
// server.
func (b *bench) fixture(name, db string, fill func(p *fixture, s *process) error) (*fixture, error) {
	return b.loadFixture(&fixture{DB: db}, name, fill)
}

// loadFixture loads the fixture if it is missing.
func (b *bench) loadFixture(p *fixture, name string, fill func(p *fixture, s *process) error) (*fixture, error) {
	s, err := cacheKey()
	if err != nil {
		return nil, err
	}
	db := p.DB
	p.Dir = filepath.Join(b.cache, name+"-"+s)
	known := filepath.Join(p.Dir, "place.json")
	raw, err := os.ReadFile(known)
	if err == nil {
		if err = json.Unmarshal(raw, p); err == nil && p.DB == db {
			return p, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "  loading", name)
	p.DB, p.Keys = db, map[string]string{}
	if err := b.loadFromEmpty(p, fill); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(p); err != nil {
		return nil, err
	}
	return p, os.WriteFile(known, raw, 0o600)
}

// loadFromEmpty loads an empty database.
func (b *bench) loadFromEmpty(p *fixture, fill func(p *fixture, s *process) error) error {
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	if p.DB != "" {
		if err := b.recreateDatabase(p.DB); err != nil {
			return err
		}
	}
	if err := b.createAccounts(p); err != nil {
		return err
	}
	s, err := b.serve(b.drivers[0], p, false)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := fill(p, s); err != nil || len(p.IDs) < memoriesEach {
		return err
	}
	// Searches use a merged index, as they do some time after such a load.
	before := s.cpu()
	s.waitMerged()
	if p.Load == nil {
		p.Load = map[string]float64{}
	}
	p.Load["merge"] = (s.cpu() - before) / 1e6
	return nil
}

// createAccounts makes two users in the database of a fixture, with a key each.
func (b *bench) createAccounts(p *fixture) error {
	for _, who := range []string{"ann", "bob"} {
		var made map[string]string
		for _, kind := range []string{"user", "key"} {
			var err error
			made, err = b.runJSON(append([]string{b.binary("loci", b.drivers[0]), "admin", kind, "create", "--json",
				"--email", who + "@example.org"}, p.flags()...)...)
			if err != nil {
				return err
			}
		}
		p.Keys[who] = made["apiKey"]
	}
	p.Key = p.Keys["ann"]
	return nil
}

// serve starts Loci on a database, with further settings.
func (b *bench) serve(driver string, p *fixture, measured bool, env ...string) (*process, error) {
	argv := []string{b.binary("loci", driver), "serve"}
	if measured && b.profile != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv[0], env = self, append(env, profileVariable+"="+b.nextProfile())
	}
	if p.embedder == nil {
		env = append(env, b.silentStub.env()...)
	}
	env = append(env, p.embedder...)
	return b.start(append(env, "LOCI_RATE_LIMIT=0"), append(append(argv, "--listen", "127.0.0.1:0"), p.flags()...)...)
}

// copyFixture copies a fixture for this run, which may change it.
func (b *bench) copyFixture(p *fixture, name string) (*fixture, error) {
	c := *p
	c.Dir = filepath.Join(b.scratch, name)
	return &c, os.CopyFS(c.Dir, os.DirFS(p.Dir))
}

// serveCopy starts Loci on a copy of a fixture.
func (b *bench) serveCopy(from *fixture, driver, name string, env ...string) (*fixture, *process, error) {
	at, err := b.copyFixture(from, name)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.serve(driver, at, true, env...)
	return at, p, err
}

// recreateDatabase makes an empty database at an address.
func (b *bench) recreateDatabase(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	c, err := pgx.Connect(b.ctx, b.postgres)
	if err != nil {
		return err
	}
	defer c.Close(b.ctx)
	name := pgx.Identifier{u.Path[1:]}.Sanitize()
	if _, err := c.Exec(b.ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`); err != nil {
		return err
	}
	_, err = c.Exec(b.ctx, `CREATE DATABASE `+name)
	return err
}

// databaseURL returns the address of another database on the same server.
func (b *bench) databaseURL(name string) (string, error) {
	u, err := url.Parse(b.postgres)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// createRequest returns the request that stores a text.
func createRequest(p *fixture, content string) request {
	return newRequest("POST", "/v1/memories", p.Key,
		map[string]any{"content": content, "title": content[:32], "type": "note", "tags": []string{"bench"}})
}

// loader returns a function that loads n memories, and records their ids and the cost.
func (b *bench) loader(n int, text func(i int) string) func(p *fixture, s *process) error {
	return func(p *fixture, s *process) error {
		p.IDs = make([]string, n)
		before, start := s.cpu(), time.Now()
		err := s.sendAll(32, n, func(i int) request { return createRequest(p, text(i)) }, func(i int, body []byte) {
			p.IDs[i] = firstID(body)
		})
		elapsed := time.Since(start).Seconds()
		p.Load = map[string]float64{"cpu": (s.waitIdle() - before) / float64(n), "seconds": elapsed}
		if err != nil {
			return err
		}
		p.Load["anonymous"], err = s.anonymousMemory()
		return err
	}
}

// firstID returns the first id in a response.
func firstID(body []byte) string { return textField(body, "id") }

// textField returns the first text in a response that has a name.
func textField(body []byte, name string) string {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}
