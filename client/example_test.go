package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
)

// exampleServer returns a server that holds two memories, one a page.
func exampleServer() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/memories", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"ok":true,"memory":{"title":"The cat is called Ada.","version":1}}`)
	})
	mux.HandleFunc("GET /v1/memories", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("cursor") == "" {
			_, _ = io.WriteString(w, `{"ok":true,"memories":[{"title":"The cat is called Ada."}],"nextCursor":"c"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"memories":[{"title":"Deploy on Tuesdays."}]}`)
	})
	mux.HandleFunc("GET /v1/memories/{memoryId}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"ok":false,"error":"not_found","code":"not_found","message":"There is none."}`)
	})
	mux.HandleFunc("POST /v1/memories/search", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"memories":[{"title":"The cat is called Ada.","score":2.5}]}`)
	})
	mux.HandleFunc("PATCH /v1/memories/{memoryId}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-Match") != `"2"` {
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = io.WriteString(w, `{"ok":false,"error":"version_conflict","code":"version_conflict","message":"Read again."}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"memory":{"title":"The cat is called Ada.","version":3}}`)
	})
	mux.HandleFunc("GET /v1/agent-messages/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: ready\ndata: {\"ok\":true,\"agentId\":\"agt_1\",\"unread\":"+
			"[{\"id\":\"1\",\"content\":\"Deploy.\"}]}\n\nevent: auth.revoked\ndata: {\"ok\":true}\n\n")
	})
	return httptest.NewServer(mux)
}

func ExampleClient_MemoryCreate() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	made, err := c.MemoryCreate(context.Background(), loci.CreateMemory{Content: "The cat is called Ada."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Memory.Title, made.Memory.Version)
	// Output: The cat is called Ada. 1
}

func ExampleClient_MemorySearch() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	found, err := c.MemorySearch(context.Background(), loci.SearchMemories{Query: "cat", Mode: loci.ModeHybrid})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Memories {
		fmt.Println(m.Title)
	}
	// Output: The cat is called Ada.
}

// A call that may have run is repeated with the same key: the server returns the stored answer.
func ExampleIdempotencyKey() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	made, err := c.MemoryCreate(context.Background(), loci.CreateMemory{Content: "The cat is called Ada."},
		client.IdempotencyKey("note-17"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Memory.Version)
	// Output: 1
}

// A change with the entity tag of a version that is not the present one changes nothing.
func ExampleIfMatch() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	change := loci.UpdateMemory{MemoryID: "01890a5d-ac96-774b-bcce-b302099a8057", Type: loci.TypeFact}
	_, err = c.MemoryUpdate(context.Background(), change, client.IfMatch(`"1"`))
	fmt.Println(loci.Is(err, loci.CodeVersionConflict))
	// Output: true
}

func ExampleClient_AgentEvents() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	lost := client.OnReconnect(func(reason error, pause time.Duration) { log.Print(reason) })
	for e, err := range c.AgentEvents(context.Background(), loci.ListenAgent{}, lost) {
		if err != nil {
			fmt.Println(err)
		}
		for _, m := range e.Messages() {
			fmt.Println(m.Content)
		}
	}
	// Output:
	// Deploy.
	// revoked: The credential was revoked: use another one.
}

func ExampleClient_MemoryListAll() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range c.MemoryListAll(context.Background(), loci.ListMemories{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Title)
	}
	// Output:
	// The cat is called Ada.
	// Deploy on Tuesdays.
}

func ExampleClient_MemoryGet() {
	server := exampleServer()
	defer server.Close()
	c, err := client.New(server.URL, client.WithKey("loci_live_..."))
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.MemoryGet(context.Background(), loci.GetMemory{MemoryID: "01890a5d-ac96-774b-bcce-b302099a8057"})
	if refused := new(loci.Error); errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Message)
	}
	// Output: not_found There is none.
}
