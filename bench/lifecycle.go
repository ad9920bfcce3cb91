package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/loci-memory/loci/internal/sqldb"
)

// The number of changes of one kind in a turn, by 32 clients. A round has lifeTurns turns, whose mean counts. Every
// eighth flush ends in a merge, after some 4,800 changes. It must not affect the same kind in each turn.
const (
	changesPerTurn = 460
	lifecycleTurns = 6
)

// lifecycle compares the changes of memories with their creation, by the same server in the same rounds. It also
// measures the context snapshot and the list.
func (b *bench) lifecycle() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "lifecycle")
	if err != nil {
		return err
	}
	// Each turn has its own memories; those archived in it are restored.
	on := func(method, path string, body func(n int) any) turnFunc {
		return func(turn int) (figures, error) {
			return p.cpuPerRequest(32, changesPerTurn, func(i int) request {
				n := turn*changesPerTurn + i
				return newRequest(method, "/v1/memories/"+at.IDs[n%len(at.IDs)]+path, at.Key, body(n))
			})
		}
	}
	nothing := func(int) any { return nil }
	kinds := []struct {
		name string
		most float64
		run  turnFunc
	}{
		{"append", 1.3, on("POST", "/append", func(n int) any {
			return map[string]any{"content": b.corpus.Prose(n)[:120]}
		})},
		{"update", 1.3, on("PATCH", "", func(n int) any {
			return map[string]any{"content": b.corpus.Prose(2_000_000 + n)}
		})},
		{"verify", 1, on("POST", "/verify", func(n int) any {
			return map[string]any{"evidence": "seen", "confidence": .9}
		})},
		{"archive", 1, on("POST", "/archive", nothing)},
		{"restore", 1, on("POST", "/restore", nothing)},
	}
	sides := []benchSide{{"create", func(turn int) (figures, error) {
		return p.cpuPerRequest(32, changesPerTurn, b.uniqueCreates(from, 2000+turn, changesPerTurn))
	}}}
	for _, k := range kinds {
		sides = append(sides, benchSide{k.name, k.run})
	}
	s, err := b.interleave("lifecycle", lifecycleTurns, sides...)
	if err != nil {
		return err
	}
	for _, k := range kinds {
		b.report.add(s.ratioLine(line{Row: "lifecycle", What: k.name + ", 32 clients, over create", Unit: "us CPU",
			Threshold: k.most}, k.name+" cpu", "create cpu"))
	}
	p.stop()
	return b.context()
}

// context measures a snapshot of 20 of many notes.
func (b *bench) context() error {
	from, err := b.notesFixture("")
	if err != nil {
		return err
	}
	_, p, err := b.serveCopy(from, b.drivers[0], "context")
	if err != nil {
		return err
	}
	s, err := b.interleave("context", 1, benchSide{"loci", func(int) (figures, error) {
		cpu, _, err := p.latencies(200, func(int) request {
			return newRequest("GET", "/v1/memories/context", from.Key, nil)
		})
		return figures{"p50": quantile(cpu, .5)}, err
	}})
	if err != nil {
		return err
	}
	b.report.add(line{Row: "lifecycle", What: "context snapshot of 20 of " + strconv.Itoa(b.memories) + ", p50",
		Unit: "ms CPU", Loci: s.median("loci p50"), Threshold: 2, IsAbsolute: true})
	return nil
}

// list compares a page of the list of very many memories with one of few.
func (b *bench) list() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	var sides []benchSide
	for _, n := range []int{1000, 10 * b.memories} {
		at, err := b.copyFixture(from, "list-"+strconv.Itoa(n))
		if err != nil {
			return err
		}
		if err := resizeDatabase(filepath.Join(at.Dir, "loci.db"), n); err != nil {
			return err
		}
		p, err := b.serve(b.drivers[0], at, true)
		if err != nil {
			return err
		}
		sides = append(sides, benchSide{strconv.Itoa(n), func(int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, func(int) request {
				return newRequest("GET", "/v1/memories?limit=20", at.Key, nil)
			})
		}})
	}
	s, err := b.interleave("list", 1, sides...)
	if err != nil {
		return err
	}
	b.report.add(s.ratioLine(line{Row: "lifecycle",
		What: fmt.Sprintf("page of 20 of %d memories, over 1000", 10*b.memories),
		Unit: "us CPU", Threshold: 1.3}, sides[1].name+" cpu", sides[0].name+" cpu"))
	return nil
}

// resizeDatabase makes a database hold n memories, by copying or deleting rows:
// lists read only rows. The keyword index is not updated.
func resizeDatabase(path string, n int) error {
	db, err := sql.Open(sqldb.SQLDriver, "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	var have, last int
	if err := db.QueryRow(`SELECT count(*), max(row_id) FROM memories`).Scan(&have, &last); err != nil {
		return err
	}
	if n < have {
		_, err := db.Exec(`DELETE FROM memories WHERE row_id > ?1`, n)
		return err
	}
	for round := 1; have < n; round++ {
		r, err := db.Exec(
			`INSERT INTO memories (id, workspace, atlas, title, content, hash, checksum, type, status, tags,
			source_name, source_uri, source_group, source_position, version, created_by, updated_by, created_at,
			updated_at)
			SELECT printf('%08x-%04x', ?1, row_id % 65536) || substr(id, 14), workspace, atlas, title, content,
			hash + ?1, checksum, type, status, tags, '', '', '', NULL, 1, created_by, updated_by, created_at + ?1,
			updated_at FROM memories WHERE row_id <= ?2 LIMIT ?3`,
			round, last, n-have)
		if err != nil {
			return err
		}
		copied, err := r.RowsAffected()
		if err != nil {
			return err
		}
		have += int(copied)
	}
	return nil
}
