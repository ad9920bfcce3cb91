package cursor_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
)

// FuzzCursor changes the cursors of a list. One that is accepted has the only encoding of its position.
func FuzzCursor(f *testing.F) {
	w := conformance.New(f, conformance.OpenSQLite, conformance.Options{})
	ann := &identity.Actor{UserID: w.Ann.ID, Operation: "memory.list"}
	in := loci.ListMemories{MemoryFilter: loci.MemoryFilter{WorkspaceID: w.Team}}
	query := cursor.Query{Secret: w.Store.Secret(), Actor: ann, In: in}
	valid := query.Encode(page.Key{})
	for _, c := range []string{valid, valid + "=", valid + "\n", valid[1:], strings.ToUpper(valid), "AAAA", "\x00"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		if c == "" {
			return // the first page
		}
		p, err := query.Parse(loci.Paging{Cursor: loci.Cursor(c)})
		if again := query.Encode(p.After); err != nil && !loci.Is(err,
			loci.CodeInvalidQuery) || err == nil && again != c {
			t.Errorf("%q: %q, %v", c, again, err)
		}
		other := query
		other.Actor = &identity.Actor{UserID: w.Bob.ID, Operation: "memory.list"}
		if _, err := other.Parse(loci.Paging{Cursor: loci.Cursor(c)}); err == nil {
			t.Errorf("%q is valid for another user", c)
		}
	})
}
