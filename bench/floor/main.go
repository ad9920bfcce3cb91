// Floor is the baseline of Loci's measurements: handlers of net/http with the least work for a response. They have no
// operations, no access checks and no index. A floor ends at its first error.
//
//	floor get    -dir DIR             one prepared read of a memory by its id, or of 20 rows by their numbers
//	floor create -dir DIR -blob BYTES the rows of a create, in commits that clients share
//	floor find   -dir DIR             stock FTS5: porter, OR, the same filters, 20 rows
//	floor fanout -dir DIR             a message to all streams
//	floor files  -dir DIR             files that are stored and sent
//	floor hold                        a stream without events
//
// DIR is a copy of a Loci data folder: same tables, same indexes, same rows.
package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

func main() {
	if len(os.Args) < 2 {
		check(fmt.Errorf("get, create, find, fanout, files or hold is needed"))
	}
	flags := flag.NewFlagSet("floor", flag.ExitOnError)
	dir := flags.String("dir", "", "data folder")
	blob := flags.Int("blob", 0, "bytes of a document in the log of changes")
	check(flags.Parse(os.Args[2:]))
	var h http.Handler
	switch path := filepath.Join(*dir, "loci.db"); os.Args[1] {
	case "get":
		h = newGetter(path)
	case "create":
		h = newCreator(path, *blob)
	case "find":
		h = newFinder(path)
	case "fanout":
		h = newFanout(path)
	case "files":
		h = newFileHandler(*dir)
	case "hold":
		h = newHolder()
	default:
		check(fmt.Errorf("there is no %q", os.Args[1]))
	}
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	fmt.Printf("floor listens on http://%s\n", l.Addr()) // as Loci does
	check(http.Serve(l, h))
}

// check ends the program with an error.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// must returns a value, or ends the program with an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// newHolder flushes the head of a stream, and waits until the client leaves.
func newHolder() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "retry: 3000\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// A fanout writes a message and its receipts in one transaction, then the same bytes to every stream.
type fanout struct {
	mu         sync.Mutex
	streams    []chan []byte
	statements []*sql.Stmt // BEGIN, COMMIT, a message, a receipt
	number     int64
}

// newFanout handles GET, a stream, and POST, a message for all streams. It writes tables of its own.
func newFanout(path string) http.Handler {
	db := open(path)
	must(db.Exec(`CREATE TABLE floor_messages (row_id INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT);
		CREATE TABLE floor_receipts (row_id INTEGER PRIMARY KEY, message BIGINT NOT NULL, agent BIGINT NOT NULL,
			number BIGINT NOT NULL, status TEXT NOT NULL, UNIQUE (agent, number), UNIQUE (message, agent))`))
	return &fanout{statements: prepareOn(db, `BEGIN IMMEDIATE; COMMIT;
		INSERT INTO floor_messages (row_id, id, content) VALUES (?1, ?2, ?3);
		INSERT INTO floor_receipts (message, agent, number, status) VALUES (?1, ?2, ?1, 'unread')`,
		`PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`)}
}

func (f *fanout) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var in struct{ Content string }
		check(json.NewDecoder(r.Body).Decode(&in))
		f.send(in.Content)
		writeJSON(w, http.StatusCreated, map[string]any{})
		return
	}
	events := make(chan []byte, 64)
	f.mu.Lock()
	f.streams = append(f.streams, events)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "event: ready\ndata: {}\n\n")
	http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			w.Write(e)
			http.NewResponseController(w).Flush()
		}
	}
}

func (f *fanout) send(content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	id := fmt.Sprintf("%036d", f.number)
	must(f.statements[0].Exec())
	must(f.statements[2].Exec(f.number, id, content))
	for agent := range f.streams {
		must(f.statements[3].Exec(f.number, agent))
	}
	must(f.statements[1].Exec())
	data := must(json.Marshal(map[string]any{"message": map[string]any{"id": id, "content": content}}))
	for _, s := range f.streams {
		s <- []byte("event: message.created\nid: " + id + "\ndata: " + string(data) + "\n\n")
	}
}

// newFileHandler handles PUT /{name}, which stores the body as a file in a folder, and GET /{name}, which sends it.
// It writes to a temporary file, flushes it, and renames it.
func newFileHandler(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := filepath.Join(dir, filepath.Base(r.URL.Path))
		if r.Method == http.MethodGet {
			http.ServeFile(w, r, path)
			return
		}
		f, sum := must(os.CreateTemp(dir, "*")), sha256.New()
		must(io.Copy(io.MultiWriter(f, sum), r.Body))
		check(f.Sync())
		check(f.Close())
		check(os.Rename(f.Name(), path))
		writeJSON(w, http.StatusOK, map[string]any{"sha256": hex.EncodeToString(sum.Sum(nil))})
	})
}
