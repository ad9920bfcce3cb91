package store

import (
	"errors"
	"fmt"
	"slices"
)

// vectors looks whether each memory has the vectors of its text, or waits for
// them. Before a program with an embedder has worked here, there are none.
func (i *inspector) vectors() error {
	var generation int64
	err := i.t.c.one(`SELECT g.rid FROM generations g JOIN instance n ON n.name = 'vectors' AND n.value = g.name`, nil, []any{&generation})
	if errors.Is(err, errNoRow) {
		return nil
	}
	for part := range slices.Chunk(i.chosen(), inspectRows) {
		var have map[int64]int64
		if err == nil {
			have, err = i.embedded(part, generation)
		}
		if err != nil {
			return err
		}
		err = i.read(part, func(m inspectedRow) error {
			text, there := have[m.rid]
			if !there {
				i.flaw(FlawVectors, m.id, i.embed(m.rid), "it has no vectors and does not wait for any")
			} else if text != 0 && text != textHash(m.title, m.content) {
				i.flaw(FlawVectors, m.id, i.embed(m.rid), "its vectors are those of another text")
			}
			return nil
		})
	}
	return err
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
