package store_test

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// A pooler is a proxy before a PostgreSQL server, like PgBouncer in transaction mode. It refuses session parameters,
// invents process ids, and knows no prepared statement by its name.
type pooler struct {
	address    string // of the database behind it
	server     string
	parameters bool         // session parameters are refused
	most       atomic.Int64 // connections; more are refused as at the limit of a role
	open       atomic.Int64 // connections
	refused    atomic.Int64
	named      atomic.Int64 // prepared statements with a name
	cutCommits atomic.Bool  // the connection to the client is lost during a commit
	explains   atomic.Bool  // with an error, as when the server is lost
}

// startPooler starts one before the server of an address.
func startPooler(t *testing.T, p *pooler, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.server, u.Host = u.Host, l.Addr().String()
	p.address = u.String()
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(c) })
		}
	})
}

// openThrough opens a database through a pooler.
func openThrough(t *testing.T, p *pooler, d storetest.Database) *store.Store {
	t.Helper()
	startPooler(t, p, d.Address)
	return storetest.Database{Address: p.address}.Open(t, store.Options{})
}

// serve forwards one connection until either side closes it.
func (p *pooler) serve(client net.Conn) {
	defer client.Close()
	in := pgproto3.NewBackend(client, client)
	start, err := in.ReceiveStartupMessage()
	if err != nil {
		return
	}
	hello, ok := start.(*pgproto3.StartupMessage)
	if !ok {
		return // a request to cancel
	}
	refuse := func(code, message string) {
		p.refused.Add(1)
		in.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
		_ = in.Flush() // the client may have left
	}
	for name := range hello.Parameters {
		if p.parameters && strings.HasSuffix(name, "_timeout") {
			refuse("08P01", "unsupported startup parameter: "+name)
			return
		}
	}
	if n, maximum := p.open.Add(1), p.most.Load(); maximum != 0 && n > maximum {
		p.open.Add(-1)
		refuse("53300", `too many connections for role "loci"`)
		return
	}
	defer p.open.Add(-1)
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	raw, err := hello.Encode(nil)
	if err != nil {
		return
	}
	if _, err := server.Write(raw); err != nil {
		return
	}
	go func() {
		defer client.Close()
		copyMessages(client, server, func(kind byte, body []byte) {
			if kind == 'K' { // BackendKeyData
				binary.BigEndian.PutUint32(body, binary.BigEndian.Uint32(body)^0x55555)
			}
		})
	}()
	copyMessages(server, client, func(kind byte, body []byte) {
		if kind == 'P' && body[0] != 0 { // Parse
			p.named.Add(1)
		}
		if kind == 'Q' && string(body) == "commit\x00" && p.cutCommits.Load() {
			if p.explains.Load() {
				refuse("08P01", "server conn crashed?")
			}
			client.Close()
		}
	})
}

// copyMessages forwards messages of the protocol, each after look has seen it.
func copyMessages(to io.Writer, from io.Reader, look func(kind byte, body []byte)) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return
		}
		look(head[0], body)
		if _, err := to.Write(append(append([]byte{}, head...), body...)); err != nil {
			return
		}
	}
}
