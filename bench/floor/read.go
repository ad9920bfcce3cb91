package main

import (
	"context"
	"database/sql"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// newGetter handles GET /v1/memories/{id} with one prepared statement.
func newGetter(path string) (http.Handler, error) {
	return newReadHandler(path, `SELECT`+columns+`FROM memories e`+scopeJoins+`WHERE e.id = ?2`,
		func(s *sql.Stmt, userID string, w http.ResponseWriter, r *http.Request) {
			var m memory
			err := m.scan(s.QueryRow(userID, strings.TrimPrefix(r.URL.Path, "/v1/memories/")))
			writeJSON(w, http.StatusOK, &m, err)
		})
}

// newReadHandler serves f with a statement on connections with the settings of Loci's readers.
func newReadHandler(path, q string, f func(s *sql.Stmt, userID string, w http.ResponseWriter,
	r *http.Request)) (http.Handler, error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	userID, err := largestOwner(db)
	if err != nil {
		return nil, err
	}
	const readers = 2
	idle := make(chan *sql.Stmt, readers)
	for range readers {
		s, err := prepareOn(db, q, `PRAGMA query_only = ON`, `PRAGMA cache_size = -2000`)
		if err != nil {
			return nil, err
		}
		idle <- s[0]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := <-idle
		defer func() { idle <- s }()
		f(s, userID, w, r)
	}), nil
}

// prepareOn reserves a connection, and returns the statements in q, which are separated by semicolons, prepared on it.
func prepareOn(db *sql.DB, q string, pragmas ...string) (list []*sql.Stmt, err error) {
	c, err := db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	for _, p := range append([]string{`PRAGMA busy_timeout = 10000`, `PRAGMA temp_store = MEMORY`,
		`PRAGMA mmap_size = 1073741824`}, pragmas...) {
		rows, err := c.QueryContext(context.Background(), p)
		if err != nil {
			return nil, err
		}
		rows.Next()
		rows.Close()
	}
	for part := range strings.SplitSeq(q, ";") {
		s, err := c.PrepareContext(context.Background(), part)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// buildIndex makes the FTS5 table, in its most compact form.
func buildIndex(path string) error {
	db, err := open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, q := range []string{
		`CREATE VIRTUAL TABLE words USING fts5 (title, content, content = 'memories', content_rowid = 'row_id', ` +
			`tokenize = 'porter')`,
		`INSERT INTO words (words) VALUES ('rebuild')`,
		`INSERT INTO words (words) VALUES ('optimize')`,
	} {
		if _, err := db.Exec(q); err != nil {
			return err
		}
	}
	return nil
}

// Queries of FTS5. The first does the least for 20 rows: it ranks, and joins rows in that order until it has 20. The
// second is equivalent to a search of Loci. It filters before the limit, counts matches, and orders ties.
const (
	rankedQuery = `SELECT` + columns + `, words.rank, 0 FROM words CROSS JOIN memories e ON e.row_id = words.rowid` +
		scopeJoins + `WHERE words MATCH ?2 AND e.status = 0 ORDER BY words.rank LIMIT 20`
	countedQuery = `SELECT` + columns +
		`, words.rank, count(*) OVER () FROM words CROSS JOIN memories e ON e.row_id = words.rowid` + scopeJoins +
		`WHERE words MATCH ?2 AND e.status = 0 ORDER BY words.rank, e.id LIMIT 20`
)

// rowsQuery reads rows without a search.
const rowsQuery = `SELECT` + columns + `, 0, 0 FROM memories e` + scopeJoins +
	`WHERE e.row_id IN (SELECT value FROM json_each(?2))`

// newFinder handles GET /best?q=... and /counted?q=...; with &stop it drops the stop words of the question. GET
// /rows?q=[1,2,3] returns those rows without a search.
func newFinder(path string) (http.Handler, error) {
	mux := http.NewServeMux()
	for name, q := range map[string]string{"/best": rankedQuery, "/counted": countedQuery, "/rows": rowsQuery} {
		h, err := newReadHandler(path, q, func(s *sql.Stmt, userID string, w http.ResponseWriter, r *http.Request) {
			given := r.URL.Query()
			queryText := given.Get("q")
			if q != rowsQuery {
				queryText = matchExpression(queryText, given.Has("stop"))
			}
			found, err := find(s, userID, queryText)
			writeJSON(w, http.StatusOK, found, err)
		})
		if err != nil {
			return nil, err
		}
		mux.Handle("GET "+name, h)
	}
	return mux, nil
}

type searchResult struct {
	Memories []memory `json:"memories"`
	Total    int      `json:"total"`
}

func find(s *sql.Stmt, userID, match string) (f searchResult, err error) {
	rows, err := s.Query(userID, match)
	if err != nil {
		return f, err
	}
	defer rows.Close()
	for rows.Next() {
		var m memory
		if err := m.scan(rows, &m.Score, &f.Total); err != nil {
			return f, err
		}
		f.Memories = append(f.Memories, m)
	}
	return f, rows.Err()
}

// matchExpression joins the words of a text by OR, optionally without stop words.
func matchExpression(text string, drop bool) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if drop {
		words = slices.DeleteFunc(words, func(w string) bool {
			return strings.Contains(stopWords, " "+strings.ToLower(w)+" ")
		})
	}
	return `"` + strings.Join(words, `" OR "`) + `"`
}

// stopWords are the stop words of a query in Loci.
const stopWords = ` a about above after again against all also am an and any are aren as at be because been before ` +
	`being below between both but by can could couldn did didn do does doesn doing don down during each few for ` +
	`from further get gets had hadn has hasn have haven having he her here hers herself him himself his how i ` +
	`if in into is isn it its itself just let ll me more most mustn my myself no nor not now of off on once ` +
	`only or other our ours ourselves out over own re same she should shouldn so some such than that ` +
	`the their theirs them themselves then there these they this those through to too under until ` +
	`up upon us use used using ve very was wasn we were weren what when where which while who ` +
	`whom whose why will with won would wouldn you your yours yourself yourselves s t `
