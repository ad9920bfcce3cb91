package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A talk is two agents of one user on a server: one sends, the other listens.
type talk struct {
	t              *testing.T
	d              storetest.Database
	url            string
	stop           func() error
	key, listenKey string
	listenKeyID    loci.ID
	listener       loci.ID // the agent
}

func newTalk(t *testing.T, d storetest.Database, flags map[string]string) *talk {
	t.Helper()
	w := &talk{t: t, d: d}
	w.url, _, _, w.stop = start(t, w.flags(flags))
	admin, err := OpenAdmin(t.Context(), Settings{Data: d.Dir, DB: d.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.CreateUser(t.Context(), "ann@example.com", "", ""); err != nil {
		t.Fatal(err)
	}
	for _, key := range []*string{&w.key, &w.listenKey} {
		made, err := admin.CreateKey(t.Context(), "ann@example.com", "")
		if err != nil {
			t.Fatal(err)
		}
		*key, w.listenKeyID = made.APIKey, made.Key.ID
	}
	if _, err := w.client(w.url, w.listenKey).AgentInbox(t.Context(), loci.ListInbox{}); err != nil {
		t.Fatal(err)
	}
	workspaces, err := w.client(w.url, w.key).WorkspaceList(t.Context(), loci.ListWorkspaces{})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := w.client(w.url, w.key).AgentList(t.Context(),
		loci.ListAgents{WorkspaceID: workspaces.Workspaces[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range agents.Agents {
		if a.KeyID == w.listenKeyID {
			w.listener = a.ID
		}
	}
	return w
}

func (w *talk) flags(more map[string]string) map[string]string {
	flags := map[string]string{"data": w.d.Dir, "db": w.d.Address}
	for k, v := range more {
		flags[k] = v
	}
	return flags
}

func (w *talk) client(url, key string) *client.Client {
	w.t.Helper()
	c, err := client.New(url, client.WithKey(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *talk) say(text string) {
	w.t.Helper()
	if _, err := w.client(w.url, w.key).AgentSend(w.t.Context(), loci.SendMessage{ToAgentID: w.listener,
		Content: loci.MessageText(text)}); err != nil {
		w.t.Fatal(err)
	}
}

// listen follows the messages at a server, as texts, and returns how that ends.
func (w *talk) listen(ctx context.Context, url string) (texts chan string, ended chan error) {
	texts, ended = make(chan string, 100), make(chan error, 1)
	ready := make(chan bool)
	begun := sync.OnceFunc(func() { close(ready) })
	c := w.client(url, w.listenKey)
	go func() {
		for e, err := range c.AgentEvents(ctx, loci.ListenAgent{}) {
			if err != nil {
				ended <- err
				return
			}
			if e.Unread != nil {
				begun()
			}
			for _, m := range e.Messages() {
				texts <- m.Content
			}
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		w.t.Fatal("the stream does not begin: ", err)
	}
	return texts, ended
}

func expectText(t *testing.T, texts chan string, want string) {
	t.Helper()
	if got := <-texts; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamHearsMessagesAndRevocationOfAnotherServer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Address == "" {
			t.Skip("one server owns a file")
		}
		w := newTalk(t, d, nil)
		other, _, _, _ := start(t, w.flags(nil))
		texts, ended := w.listen(t.Context(), other)
		for i := range 20 {
			w.say(fmt.Sprint("message ", i))
			expectText(t, texts, fmt.Sprint("message ", i))
		}
		db, err := pgx.Connect(t.Context(), d.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(context.Background())
		for i := range 3 { // the connections that listen are lost: a look finds the message
			if _, err := db.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND query LIKE 'LISTEN%'`); err != nil {
				t.Fatal(err)
			}
			w.say(fmt.Sprint("lost ", i))
			expectText(t, texts, fmt.Sprint("lost ", i))
		}
		address := fmt.Sprint(w.url, "/v1/api-keys/", w.listenKeyID)
		if status, v := callAPI(t, "DELETE", address, w.key, ""); status != 200 {
			t.Fatal(status, v)
		}
		if err := <-ended; !loci.Is(err, loci.CodeRevoked) {
			t.Error(err)
		}
	})
}

func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newTalk(t, d, nil)
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v1/agent-messages/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.listenKey)
		r.Header.Set("X-Loci-Actor", "agent")
		res, err := testenv.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		stream := bufio.NewReader(res.Body)
		if line, err := stream.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, stream)
			ended <- err
		}()
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil { // the server breaks a call that does not end
			t.Errorf("the stream was cut off: %v", err)
		}
	})
}

// TestVanishedListenersLeaveNoStream opens streams and leaves them in several ways. The gauge counts those that stay.
func TestVanishedListenersLeaveNoStream(t *testing.T) {
	t.Parallel()
	port := freeAddress(t)
	w := newTalk(t, storetest.Database{Dir: t.TempDir()}, map[string]string{"metrics-listen": port})
	streams := func() string {
		r, err := testenv.Client.Get("http://" + port + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		_, after, _ := strings.Cut(string(text), "\nloci_streams ")
		count, _, _ := strings.Cut(after, "\n")
		return count
	}
	var conns []net.Conn
	host := strings.TrimPrefix(w.url, "http://")
	for _, request := range []string{"GET %s HTTP/1.1", "GET %s HTTP/1.0", "HEAD %s HTTP/1.1"} {
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, request+"\r\nHost: %s\r\nAuthorization: Bearer %s\r\nX-Loci-Actor: agent\r\n\r\n",
			"/v1/agent-messages/events", host, w.listenKey)
		conns = append(conns, c)
	}
	waittest.Until(t, func() bool { return streams() == "2" }) // HEAD has no events
	for _, c := range conns {
		c.Close()
	}
	waittest.Until(t, func() bool { return streams() == "0" })
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := testenv.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
