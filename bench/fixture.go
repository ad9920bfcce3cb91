package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/vector"
)

// A dataset is a kind of loaded database.
type dataset struct {
	name       string
	hasVectors bool // from the stub
	fill       func(at *fixture, p *process)
}

// A fixture is a Loci database with keys of its users.
type fixture struct {
	Keys map[string]string // of ann and bob
	IDs  []string          // of ann's memories

	dir      string
	db       string   // address of PostgreSQL; empty means SQLite in dir
	embedder []string // environment that chooses the embedder; empty is for the built-in one
}

func (at *fixture) flags(argv ...string) []string {
	if at.db != "" {
		argv = append(argv, "--db", at.db)
	}
	return append(argv, "--data", at.dir)
}

// request returns a request of ann.
func (at *fixture) request(method, path string, body any, headers ...string) request {
	return newRequest(method, path, at.Keys["ann"], body, headers...)
}

// build builds Loci and the floor with a driver, as the Makefile does.
func (b *bench) build(driver string) {
	all := map[string][2]string{"mattn": {"sqlite_fts5", "CGO_ENABLED=1"}, "modernc": {"", "CGO_ENABLED=0"}}
	settings, ok := all[driver]
	if !ok {
		check(fmt.Errorf("there is no driver %q: mattn, modernc", driver))
	}
	for name, path := range map[string]string{"loci": "./cmd/loci", "floor": "./bench/floor"} {
		out := b.binary(name, driver)
		c := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-tags", settings[0], "-o", out, path)
		c.Env = append(os.Environ(), "GOAMD64=v2", settings[1])
		if out, err := c.CombinedOutput(); err != nil {
			check(fmt.Errorf("build %s with %s: %w\n%s", path, driver, err, out))
		}
	}
}

// binary returns the path of a program for an engine: a driver of SQLite, postgres, or former for the former build.
func (b *bench) binary(name, engine string) string {
	switch engine {
	case "former":
		return b.former
	case "postgres":
		engine = b.drivers[0]
	}
	return filepath.Join(b.cache, name+"-"+engine)
}

// fixture returns the loaded database of a dataset for an engine. Those of drivers of SQLite are from an earlier run if
// possible. A former build has its own, whose tables may differ.
func (b *bench) fixture(d dataset, engine string) *fixture {
	name, folder := d.name+"-"+cacheKey(), b.cache
	if engine == "former" || engine == "postgres" {
		name, folder = d.name+"-"+engine, b.scratch
	}
	if at, ok := b.fixtures[name]; ok {
		return at
	}
	at := &fixture{dir: filepath.Join(folder, name), Keys: map[string]string{}, embedder: b.silent}
	if d.hasVectors {
		at.embedder = b.stub
	}
	b.fixtures[name] = at
	known := filepath.Join(at.dir, "fixture.json")
	if raw, err := os.ReadFile(known); err == nil && json.Unmarshal(raw, at) == nil {
		return at
	}
	fmt.Fprintln(os.Stderr, "  loading", name)
	check(os.RemoveAll(at.dir))
	check(os.MkdirAll(at.dir, 0o700))
	if engine == "postgres" {
		at.db = b.createDatabase("loci_bench_"+name, "template0")
	}
	b.loadFixture(at, d, engine)
	check(os.WriteFile(known, must(json.Marshal(at)), 0o600))
	return at
}

// loadFixture makes two users with a key each, and loads the database through a server.
func (b *bench) loadFixture(at *fixture, d dataset, engine string) {
	for _, who := range []string{"ann", "bob"} {
		at.Keys[who] = b.newUser(at, engine, who)
	}
	p := b.serve(at, engine)
	defer p.stop()
	d.fill(at, p)
	if d.hasVectors {
		p.waitEmbedded(at)
	}
	if len(at.IDs) > 0 {
		p.waitMerged() // as some time after such a load
	}
}

// newUser makes a user with a key.
func (b *bench) newUser(at *fixture, engine, who string) (key string) {
	for _, kind := range []string{"user", "key"} {
		c := exec.CommandContext(b.ctx, b.binary("loci", engine),
			at.flags("admin", kind, "create", "--json", "--email", who+"@example.org")...)
		c.Env, c.Stderr = environ(), os.Stderr
		key = textField(must(c.Output()), "apiKey")
	}
	return key
}

// newListeners makes the users who have n streams, with a key each.
func (b *bench) newListeners(at *fixture, n int) (keys []string) {
	for i := range (n + streamsOfAUser - 1) / streamsOfAUser {
		keys = append(keys, b.newUser(at, b.drivers[0], fmt.Sprint("listener", i)))
	}
	return keys
}

// waitEmbedded waits until all memories have vectors.
func (p *process) waitEmbedded(at *fixture) {
	for start := time.Now(); p.pending(at) > 0; time.Sleep(200 * time.Millisecond) {
		if time.Since(start) > 20*time.Minute {
			check(errors.New("memories still wait for vectors"))
		}
	}
}

// pending returns the number of ann's memories without vectors, and of bob's.
func (p *process) pending(at *fixture) (n int) {
	for _, key := range at.Keys {
		var status struct{ Indexing struct{ Pending int } }
		check(json.Unmarshal(p.ask(newRequest("GET", "/v1/status", key, nil)), &status))
		n += status.Indexing.Pending
	}
	return n
}

// serve starts Loci on a database.
func (b *bench) serve(at *fixture, engine string) *process {
	return b.start(append([]string{"LOCI_RATE_LIMIT=0"}, at.embedder...),
		append([]string{b.binary("loci", engine)}, at.flags("serve", "--listen", "127.0.0.1:0")...)...)
}

// serveVariant starts a server on a copy of a dataset.
func (b *bench) serveVariant(d dataset, v variant) (*fixture, *process) {
	at := b.copyFixture(d, v.engine)
	if v.floor == nil {
		return at, b.serve(at, v.engine)
	}
	argv := append([]string{b.binary("floor", v.engine), v.floor[0], "-dir", at.dir}, v.floor[1:]...)
	return at, b.start(nil, argv...)
}

// copyFixture copies a fixture for this row, which may change it.
func (b *bench) copyFixture(d dataset, engine string) *fixture {
	from := b.fixture(d, engine)
	at := *from
	at.dir = must(os.MkdirTemp(b.scratch, d.name+"-"))
	check(os.CopyFS(at.dir, os.DirFS(from.dir)))
	b.atEnd = append(b.atEnd, func() { os.RemoveAll(at.dir) })
	if at.db != "" {
		name := filepath.Base(at.dir)
		at.db = b.createDatabase("loci_bench_"+name, must(url.Parse(from.db)).Path[1:])
		b.atEnd = append(b.atEnd, func() { b.dropDatabase("loci_bench_" + name) })
	}
	return &at
}

// cleanUp removes what the run has loaded, but for the cache.
func (b *bench) cleanUp() {
	for name, at := range b.fixtures {
		if at.db != "" {
			b.dropDatabase("loci_bench_" + name)
		}
	}
	os.RemoveAll(b.scratch)
}

// createDatabase makes a database from a template on the PostgreSQL server, and returns its address.
func (b *bench) createDatabase(name, template string) string {
	b.dropDatabase(name)
	b.execPostgres(`CREATE DATABASE %s TEMPLATE %s`, name, template)
	u := must(url.Parse(b.postgres))
	u.Path = "/" + name
	return u.String()
}

func (b *bench) dropDatabase(name string) {
	b.execPostgres(`DROP DATABASE IF EXISTS %s WITH (FORCE)`, name)
}

func (b *bench) execPostgres(format string, names ...any) {
	ctx := context.WithoutCancel(b.ctx) // at the end of an interrupted run too
	c := must(pgx.Connect(ctx, b.postgres))
	defer c.Close(ctx)
	for i, name := range names {
		names[i] = pgx.Identifier{name.(string)}.Sanitize()
	}
	must(c.Exec(ctx, fmt.Sprintf(format, names...)))
}

// cacheKey identifies databases in the cache by the versions of notes, tables, documents and segments.
func cacheKey() string {
	h := sha256.New()
	fmt.Fprintln(h, corpusVersion, analysis.Version, index.FormatVersion, vector.ChunkVersion, stubModel)
	check(filepath.WalkDir("internal/sqldb/migrations", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			h.Write(must(os.ReadFile(path)))
		}
		return err
	}))
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

// stubModel is the model name of the stub. It changes whenever the same text gets another vector.
const stubModel = "stub-2"

// startStub starts a server that replaces an embedder whose cost is not measured. It implements the embeddings API of
// OpenAI; a silent one never responds, so that memories stay in the queue. It returns the environment that makes Loci
// use it, as a proxy: so the generation of the vectors contains no port, and later runs can reuse a database.
func startStub(silent bool) []string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent {
			<-r.Context().Done()
			return
		}
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		list := make([]map[string]any, len(in.Input))
		for i, text := range in.Input {
			list[i] = map[string]any{"embedding": stubVector(text)}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": list}) // a server that has ended misses it
	}))
	return []string{"HTTP_PROXY=http://" + l.Addr().String(), "http_proxy=", "NO_PROXY=", "no_proxy=",
		"LOCI_EMBED_URL=http://stub.test/v1", "LOCI_EMBED_MODEL=" + stubModel}
}

// stubVector returns the sum of a random direction for each word of four letters and more. Texts with common words are
// near each other.
func stubVector(text string) []float32 {
	v := make([]float32, 384) // as of the built-in model
	v[0] = 1                  // without such a word
	for _, w := range strings.Fields(strings.ToLower(text)) {
		if w = strings.Trim(w, ".,;:()?!\"'`"); len(w) < 4 {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(w))
		direction := rand.NewPCG(h.Sum64(), 0)
		for i := 0; i < len(v); i += 8 {
			for j, z := 0, direction.Uint64(); j < 8; j++ {
				v[i+j] += float32(int8(z >> (8 * j)))
			}
		}
	}
	sum := 0.
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}
