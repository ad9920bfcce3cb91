package store

import (
	"errors"
	"fmt"
)

// vectors looks whether each memory has the vectors of its text, or waits for
// them, and whether those are what was written. Before a program with an embedder
// has worked here, there are none.
func (i *inspector) vectors() error {
	var generation int64
	err := i.t.c.one(`SELECT g.rid FROM generations g JOIN instance n ON n.name = 'vectors' AND n.value = g.name`, nil, []any{&generation})
	if errors.Is(err, errNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	return i.batches(i.chosen(), func(part []int64) error {
		have, err := i.embedded(part, generation)
		if err != nil {
			return err
		}
		broken, err := i.brokenVectors(part, generation)
		if err != nil {
			return err
		}
		return i.read(part, func(m inspectedRow) error {
			text, there := have[m.rid]
			switch {
			case broken[m.rid]:
				i.flaw(FlawVectors, m.id, i.embedAnew(m.rid, generation), "the checksum of a vector is another one")
			case !there:
				i.flaw(FlawVectors, m.id, i.embed(m.rid), "it has no vectors and does not wait for any")
			case text != 0 && text != textHash(m.title, m.content) && m.damage() == "":
				i.flaw(FlawVectors, m.id, i.embed(m.rid), "its vectors are those of another text")
			}
			return nil
		})
	})
}

// embedded returns, of memories, the hash of the text whose vectors are the
// present ones, or zero for who waits.
func (i *inspector) embedded(rids []int64, generation int64) (map[int64]int64, error) {
	have := map[int64]int64{}
	in := fmt.Sprintf(i.t.s.db.dialect().in, "memory", 1)
	err := i.t.c.each(`SELECT memory, text FROM vectors v WHERE `+in+` AND generation = ?2 AND passage = 0
		AND seq = (SELECT max(p.seq) FROM vectors p WHERE p.memory = v.memory AND p.generation = ?2)
		UNION ALL SELECT memory, 0 FROM waiting WHERE `+in, []any{integers(rids), generation}, func(r row) error {
		var memory, text int64
		err := r.Scan(&memory, &text)
		if _, twice := have[memory]; !twice || text == 0 {
			have[memory] = text
		}
		return err
	})
	return have, err
}

// brokenVectors returns those of the memories that have a vector with another
// checksum than its own.
func (i *inspector) brokenVectors(rids []int64, generation int64) (map[int64]bool, error) {
	broken := map[int64]bool{}
	err := i.t.c.each(`SELECT memory, text, passage, vector, checksum FROM vectors WHERE `+fmt.Sprintf(i.t.s.db.dialect().in, "memory", 1)+`
		AND generation = ?2 AND checksum IS NOT NULL`, []any{integers(rids), generation}, func(r row) error {
		var memory, text, sum int64
		var passage int
		var vector []byte
		err := r.Scan(&memory, &text, &passage, &vector, &sum)
		if err == nil && sum != vectorChecksum(text, passage, vector) {
			broken[memory] = true
		}
		return err
	})
	return broken, err
}

func (i *inspector) embed(rid int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		w := &Workspace{t: t.t, rid: i.workspace}
		if _, err := t.row(rid); err != nil {
			if errors.Is(err, errNoRow) {
				return mendedMeanwhile, nil
			}
			return "", err
		}
		return "waits for them now", w.wait(rid)
	}
}

// embedAnew takes the vectors of a memory away, so that none of them is used again.
func (i *inspector) embedAnew(rid, generation int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		if _, err := t.t.exec(`DELETE FROM vectors WHERE memory = ?1 AND generation = ?2`, rid, generation); err != nil {
			return "", err
		}
		return i.embed(rid)(t)
	}
}
