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

// A place is a database of Loci's, with a key of the user whose it is.
type place struct {
	Dir  string            `json:"-"`
	DB   string            `json:"db"`  // address of PostgreSQL; empty is SQLite in Dir
	Key  string            `json:"key"` // of ann
	Keys map[string]string `json:"keys"`
	IDs  []string          `json:"ids"`
	Load map[string]float64

	embedder []string // environment that names it; nil is one that never answers
}

func (p *place) flags() []string {
	if p.DB != "" {
		return []string{"--db", p.DB, "--data", p.Dir}
	}
	return []string{"--data", p.Dir}
}

// place returns the loaded database with that name, from the cache if it is
// there. Else fill loads it, through the server.
func (b *bench) place(name, db string, fill func(p *place, s *process) error) (*place, error) {
	return b.placeOf(&place{DB: db}, name, fill)
}

// placeOf fills in what a place is not yet.
func (b *bench) placeOf(p *place, name string, fill func(p *place, s *process) error) (*place, error) {
	s, err := stamp()
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
	if err := b.fill(p, fill); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(p); err != nil {
		return nil, err
	}
	return p, os.WriteFile(known, raw, 0o600)
}

// fill makes a database from nothing.
func (b *bench) fill(p *place, fill func(p *place, s *process) error) error {
	if err := os.RemoveAll(p.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	if p.DB != "" {
		if err := b.freshDatabase(p.DB); err != nil {
			return err
		}
	}
	if err := b.accounts(p); err != nil {
		return err
	}
	s, err := b.serve(b.drivers[0], p, false)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := fill(p, s); err != nil || len(p.IDs) < each {
		return err
	}
	// What searches meet is an index that was tidied: who loads so much goes on to use it.
	before := s.cpu()
	s.rest()
	if p.Load == nil {
		p.Load = map[string]float64{}
	}
	p.Load["tidying"] = (s.cpu() - before) / 1e6
	return nil
}

// accounts makes two users in the database of a place, with a key each.
func (b *bench) accounts(p *place) error {
	for _, who := range []string{"ann", "bob"} {
		email := []string{"--json", "--email", who + "@example.org"}
		loci := b.binary("loci", b.drivers[0])
		if _, err := b.command(append(append([]string{loci, "admin", "user", "create"}, email...), p.flags()...)...); err != nil {
			return err
		}
		made, err := b.command(append(append([]string{loci, "admin", "key", "create"}, email...), p.flags()...)...)
		if err != nil {
			return err
		}
		p.Keys[who] = made["apiKey"]
	}
	p.Key = p.Keys["ann"]
	return nil
}

// serve starts Loci on a database.
func (b *bench) serve(driver string, p *place, measured bool) (*process, error) {
	argv := []string{b.binary("loci", driver), "serve"}
	var env []string
	if measured && b.profile != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv[0], env = self, []string{profileVariable + "=" + b.nextProfile()}
	}
	if p.embedder == nil {
		env = append(env, b.silent.environ()...)
	}
	env = append(env, p.embedder...)
	return b.start(append(env, "LOCI_RATE_LIMIT=0"), append(append(argv, "--listen", "127.0.0.1:0"), p.flags()...)...)
}

// copy makes a place of this run's own, which the run may change.
func (b *bench) copy(p *place, name string) (*place, error) {
	c := *p
	c.Dir = filepath.Join(b.scratch, name)
	return &c, copyFolder(p.Dir, c.Dir)
}

// freshDatabase makes the database that an address names, empty.
func (b *bench) freshDatabase(address string) error {
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

// database returns the address of another database on the same server.
func (b *bench) database(name string) (string, error) {
	u, err := url.Parse(b.postgres)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// create is the request that stores a text.
func create(p *place, content string) request {
	return newRequest("POST", "/v1/memories", p.Key, map[string]any{"content": content, "title": content[:32], "type": "note", "tags": []string{"bench"}})
}

// fillWith loads n memories, and keeps their ids and what it took.
func (b *bench) fillWith(n int, text func(i int) string) func(p *place, s *process) error {
	return func(p *place, s *process) error {
		p.IDs = make([]string, n)
		before, began := s.cpu(), time.Now()
		err := s.send(32, n, func(i int) request { return create(p, text(i)) }, func(i int, body []byte) { p.IDs[i] = idOf(body) })
		took := time.Since(began).Seconds()
		p.Load = map[string]float64{"cpu": (s.quiet() - before) / float64(n), "seconds": took}
		if err != nil {
			return err
		}
		p.Load["anonymous"], err = s.anonymous()
		return err
	}
}

// idOf returns the first id in an answer.
func idOf(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}
