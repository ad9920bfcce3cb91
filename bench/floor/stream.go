package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

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
	mu                     sync.Mutex
	streams                map[chan []byte]bool
	begin, commit          *sql.Stmt
	addMessage, addReceipt *sql.Stmt
	number                 int64
}

// newFanout handles GET, a stream, and POST, a message for all streams. It writes tables of its own.
func newFanout(path string) (http.Handler, error) {
	db, err := open(path)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(`CREATE TABLE floor_messages (row_id INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT);
		CREATE TABLE floor_receipts (row_id INTEGER PRIMARY KEY, message BIGINT NOT NULL, agent BIGINT NOT NULL,
			number BIGINT NOT NULL, status TEXT NOT NULL, UNIQUE (agent, number), UNIQUE (message, agent))`); err != nil {
		return nil, err
	}
	list, err := prepareOn(db, `BEGIN IMMEDIATE; COMMIT;
		INSERT INTO floor_messages (row_id, id, content) VALUES (?1, ?2, ?3);
		INSERT INTO floor_receipts (message, agent, number, status) VALUES (?1, ?2, ?1, 'unread')`,
		`PRAGMA journal_mode = WAL`, `PRAGMA synchronous = FULL`)
	if err != nil {
		return nil, err
	}
	return &fanout{streams: map[chan []byte]bool{}, begin: list[0], commit: list[1], addMessage: list[2],
		addReceipt: list[3]}, nil
}

func (f *fanout) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = f.send(body)
		}
		writeJSON(w, http.StatusCreated, map[string]any{}, err)
		return
	}
	events := make(chan []byte, 64)
	f.mu.Lock()
	f.streams[events] = true
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

func (f *fanout) send(body []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var in struct{ Content string }
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	f.number++
	id := fmt.Sprintf("%036d", f.number)
	if _, err := f.begin.Exec(); err != nil {
		return err
	}
	if _, err := f.addMessage.Exec(f.number, id, in.Content); err != nil {
		return err
	}
	for agent := range len(f.streams) {
		if _, err := f.addReceipt.Exec(f.number, agent); err != nil {
			return err
		}
	}
	if _, err := f.commit.Exec(); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"message": map[string]any{"id": id, "content": in.Content}})
	event := []byte("event: message.created\nid: " + id + "\ndata: " + string(data) + "\n\n")
	for s := range f.streams {
		s <- event
	}
	return err
}
