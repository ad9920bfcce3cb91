package sqldb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// A commitMark counts commits in the database, and notes the number in the marker beside it
// once that commit is durable. A database that counts fewer when it is opened has lost
// acknowledged writes: its write-ahead log was cut, emptied or removed after a crash, of
// which SQLite says nothing. At most one commit a second is counted, so that the last
// second before a crash is not watched over. The writer alone uses it.
type commitMark struct {
	file    *os.File // nil where there is none: nothing is noted
	count   int64
	counted bool // the commit under way
	due     time.Time
}

const (
	countEvery  = time.Second
	countFormat = "Commits: %020d\n"

	commitsName = "commits" // of the count, in the table metadata
)

var countSize = len(fmt.Sprintf(countFormat, 0))

// markedCommits returns the number in the marker, 0 where it has none.
func (d *sqliteDB) markedCommits() int64 {
	text, err := os.ReadFile(d.marker())
	if err != nil {
		return 0
	}
	line, found := strings.CutPrefix(string(text), markerText)
	if !found || len(line) != countSize {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimPrefix(line, "Commits:")), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// compareCommits notes in the database where it counts fewer commits than the marker.
func (c *sqliteConn) compareCommits(marked int64) (count int64, err error) {
	var text string
	err = c.QueryRow(`SELECT value FROM metadata WHERE name = ?1`, []any{commitsName}, []any{&text})
	if err == nil {
		count, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil && !errors.Is(err, ErrNoRows) {
		return 0, err
	}
	if count >= marked {
		return count, nil
	}
	_, err = c.Exec(`INSERT INTO metadata (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING`,
		[]any{LostCommitsName, time.Now().UTC().Format(time.RFC3339)})
	return count, err
}

// LostCommitsName is the row of the table metadata that says when a start found lost commits.
const LostCommitsName = "lost commits"

// LostCommits is why commits are lost.
const LostCommits = "the write-ahead log was cut, emptied or removed after a crash, " +
	"or an older copy of the database was put in its place"

// open opens the marker, which is written whole where it is not as it should be.
func (m *commitMark) open(path string, count int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if whole := fmt.Sprintf(markerText+countFormat, count); err == nil && string(text) != whole {
		if _, err = f.WriteAt([]byte(whole), 0); err == nil {
			err = f.Truncate(int64(len(whole)))
		}
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	m.file, m.count = f, count
	return nil
}

// step counts the commit under way, if it is time to.
func (m *commitMark) step(c *sqliteConn) error {
	if m.counted = m.file != nil && !time.Now().Before(m.due); !m.counted {
		return nil
	}
	var text string
	err := c.QueryRow(`INSERT INTO metadata (name, value) VALUES (?1, '1')
		ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING value`,
		[]any{commitsName}, []any{&text})
	if err != nil {
		return err
	}
	m.count, err = strconv.ParseInt(text, 10, 64)
	return err
}

// note notes the count once its commit is durable. A number that is not written is one that
// a start does not ask for.
func (m *commitMark) note() {
	if m.counted {
		_, _ = m.file.WriteAt(fmt.Appendf(nil, countFormat, m.count), int64(len(markerText)))
		m.due = time.Now().Add(countEvery)
	}
}

func (m *commitMark) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
