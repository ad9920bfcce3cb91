package store

import (
	"errors"
	"slices"

	"github.com/loci-memory/loci"
)

// superseded is the place of that status among loci.Statuses.
var superseded = slices.Index(loci.Statuses, loci.Superseded)

// links looks at both ends of the links of a memory.
func (i *inspector) links(m inspectedRow) error {
	tell := func(what string) {
		i.flaw(FlawLinks, m.id, func(t *SystemTx) (string, error) { return t.relink(m.rid) }, "%s", what)
	}
	if m.supersededBy != "" {
		by, found, err := i.t.linked(i.workspace, m.supersededBy)
		if err != nil {
			return err
		}
		switch list, _ := readTexts(by.supersedes); {
		case m.status != superseded:
			tell("it has a replacement and is not superseded")
		case !found:
			tell("its replacement is not there")
		case !slices.Contains(list, m.id):
			tell("its replacement does not know of it")
		}
	}
	ids, err := readTexts(m.supersedes)
	if err != nil {
		tell("what it supersedes cannot be read")
		return nil
	}
	right, err := i.t.supersededBy(i.workspace, m.id, ids)
	if err == nil && !slices.Equal(right, ids) {
		tell("it supersedes what does not know of it, or the same twice")
	}
	return err
}

// linked returns the row of a memory that another one of the workspace names.
func (t *Tx) linked(workspace int64, id string) (m inspectedRow, found bool, err error) {
	err = m.scan(scanned{func(dest ...any) error {
		return t.c.one(`SELECT`+inspectedColumns+`FROM memories e WHERE e.id = ?1 AND e.workspace = ?2`, []any{id, workspace}, dest)
	}})
	if errors.Is(err, errNoRow) {
		return m, false, nil
	}
	return m, err == nil, err
}

// supersededBy returns those of the memories that have that one as replacement,
// each once.
func (t *Tx) supersededBy(workspace int64, by string, ids []string) ([]string, error) {
	right := []string{}
	for _, id := range ids {
		m, found, err := t.linked(workspace, id)
		if err != nil {
			return nil, err
		}
		if found && m.supersededBy == by && m.status == superseded && !slices.Contains(right, id) {
			right = append(right, id)
		}
	}
	return right, nil
}

// relink makes both ends of a memory's links agree. What a superseded memory
// says of its replacement is right, where that is there.
func (t *SystemTx) relink(rid int64) (string, error) {
	m, err := t.row(rid)
	if errors.Is(err, errNoRow) {
		return mendedMeanwhile, nil
	}
	if err != nil {
		return "", err
	}
	done := "made what it supersedes anew"
	if m.supersededBy != "" {
		by, found, err := t.t.linked(m.workspace, m.supersededBy)
		if err != nil {
			return "", err
		}
		if m.status != superseded || !found {
			done = "took the replacement away"
			_, err = t.t.exec(`UPDATE memories SET superseded_by = '' WHERE rid = ?1`, rid)
		} else if by, err = t.row(by.rid); err == nil {
			list, _ := readTexts(by.supersedes)
			if !slices.Contains(list, m.id) {
				done = "told its replacement"
				err = t.t.replaces(by.id, append(list, m.id))
			}
		}
		if err != nil {
			return "", err
		}
	}
	ids, _ := readTexts(m.supersedes)
	right, err := t.t.supersededBy(m.workspace, m.id, ids)
	if err != nil {
		return "", err
	}
	return done, t.t.replaces(m.id, right)
}
