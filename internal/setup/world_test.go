package setup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

// A world is the home folder of a person, and a project.
type world struct {
	t             *testing.T
	home, project string
	system        System
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, home: t.TempDir(), project: t.TempDir()}
	w.system = System{OS: "linux", Env: func(name string) string { return map[string]string{"HOME": w.home}[name] }}
	return w
}

// connections are the ways to reach Loci.
var connections = []struct {
	name string
	to   Connection
}{
	{"stdio", Connection{Command: "loci", Args: []string{"mcp"}}},
	{"oauth", Connection{URL: "https://loci.example.org/mcp"}},
	{"key", Connection{URL: "https://loci.example.org/mcp", KeyVariable: "LOCI_API_KEY"}},
	{"agent", Connection{URL: "https://loci.example.org/mcp", KeyVariable: "LOCI_API_KEY", Agent: true}},
}

// connectable returns the names of the clients whose file lists MCP servers.
func connectable() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { return !Lookup(name).HasConnection() })
}

// change returns a change of the person's file; a nil connection removes.
func (w *world) change(client string, to *Connection) Change {
	return Change{Client: Lookup(client), System: w.system, Entry: "loci", To: to, Lock: filepath.Join(w.home, "lock")}
}

// run makes a change that must succeed.
func (w *world) run(c Change) Outcome {
	w.t.Helper()
	out, err := c.Run(w.t.Context())
	if err != nil {
		w.t.Fatalf("%s: %v", c.Client.Name, err)
	}
	return out
}

// expect makes a change, and compares what it does.
func (w *world) expect(c Change, want Action) {
	w.t.Helper()
	out := w.run(c)
	testenv.Equal(w.t, out.Action, want, c.Client.Name, out)
}

// path returns the file that a client would get.
func (w *world) path(client string) string {
	w.t.Helper()
	f := testenv.Must(w.change(client, nil).open())(w.t)
	return f.path
}

// write puts a text into a client's file.
func (w *world) write(client, text string) string {
	w.t.Helper()
	path := w.path(client)
	testenv.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(w.t, os.WriteFile(path, []byte(text), 0o640))
	return path
}

// readText returns the text of a file, or "(no file)".
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "(no file)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// entryOf returns the entry of a text in a form that can be compared.
func entryOf(t *testing.T, c *Client, text, name string) any {
	t.Helper()
	d := testenv.Must(c.parse([]byte(text)))(t)
	value, _, err := d.Value(c.container, name)
	if err != nil {
		t.Fatal(err)
	}
	raw := testenv.Must(json.Marshal(value))(t)
	return string(raw)
}
