package conformance_test

import (
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// allowedDisclosures are the fields in which an answer may reveal that a record
// of another tenant exists, with the reason.
var allowedDisclosures = map[string]string{
	"auth.register email": "an address has one account: the contract answers conflict",
}

// keyHeader is the one header that is tried beside the fields.
const keyHeader = "Idempotency-Key"

// TestTenantsAreIsolated tries texts that ann received (ids, cursors, addresses, names) in every text field of eve's
// calls, over every transport; a run that is not whole samples them. Each answer equals that for an unknown text of the
// same form.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	scene := openIsolationScene(t)
	scene.whole = testenv.Whole()
	var tried atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d secrets in %d calls, each beside its twin", len(scene.secrets), tried.Load())
		if tried.Load() == 0 {
			t.Error("no secret was tried")
		}
	})
	for _, o := range service.Ops.Ops {
		t.Run(o.Name, func(t *testing.T) {
			t.Parallel()
			fields := append(textFields(o), keyHeader)
			for m := range scene.mismatches(scene.serve(t, leak{}), o, fields, &tried) {
				t.Error(m)
			}
		})
	}
}

// An isolationScene is a world in which ann and eve have called every operation. Each tested operation has a copy of
// it, because calls change what the next ones find.
type isolationScene struct {
	files    fs.FS // of the database and of the bucket
	ann, eve conformance.World
	secrets  []secret
	turns    map[string]int // of the fields, in the order of the table
	whole    bool           // each field meets every secret
}

// blind are the options of the scene's worlds. All texts look the same to the embedder.
func blind(t testing.TB, dir string) conformance.Options {
	return conformance.Options{Embedder: &storetest.FakeEmbedder{Name: "blind", Constant: true},
		SendMail: withMail.SendMail, Bucket: testenv.Must(blob.OpenFolder(filepath.Join(dir, "bucket")))(t)}
}

var (
	isolationOnce sync.Once
	isolated      *isolationScene
)

// openIsolationScene returns the scene, which the first caller makes.
func openIsolationScene(t testing.TB) *isolationScene {
	t.Helper()
	isolationOnce.Do(func() { isolated = newIsolationScene(t) })
	if isolated == nil {
		t.Fatal("the scene is missing: see the failure of the test that made it")
	}
	scene := *isolated
	return &scene
}

func newIsolationScene(t testing.TB) *isolationScene {
	t.Helper()
	dir := storetest.NewDir(t)
	h := newTestServer(t, conformance.New(t, openIn(dir), blind(t, dir)))
	addRecords(h)
	h.WaitForEmbeddings(t)
	eve := *h.World
	eve.Ann, eve.Team = h.Eve, h.NewTeam(t, h.Eve)
	eve.Bob, eve.Cid, eve.Fay = h.Person(t, "gil"), h.Person(t, "hal"), h.Person(t, "ida")
	h.Join(t, eve.Team, h.Eve, eve.Bob, loci.RoleAdmin)
	h.Join(t, eve.Team, h.Eve, eve.Cid, loci.RoleMember)
	annDisclosures := collectDisclosures(h, h.World)
	secrets := secretTexts(annDisclosures, collectDisclosures(h, &eve))
	if len(secrets) < 20 {
		t.Fatalf("ann was told %d things only: %v", len(secrets), secrets)
	}
	h.WaitForEmbeddings(t)
	h.Gate.Close()
	testenv.NoError(t, h.Store.Close())
	turns := map[string]int{}
	for _, o := range service.Ops.Ops {
		for _, field := range textFields(o) {
			if name := o.Name + " " + field; allowedDisclosures[name] == "" {
				turns[name] = len(turns)
			}
		}
	}
	return &isolationScene{files: readFolder(t, dir), ann: *h.World, eve: eve, secrets: secrets, turns: turns}
}

func openIn(dir string) func(testing.TB, store.Options) *store.Store {
	return storetest.Database{Dir: dir}.Open
}

// readFolder returns a copy of a folder.
func readFolder(t testing.TB, dir string) fs.FS {
	t.Helper()
	files, root := fstest.MapFS{}, os.DirFS(dir)
	testenv.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	}))
	return files
}

// serve serves a copy of the scene to eve.
func (s *isolationScene) serve(t testing.TB, l leak) *testServer {
	t.Helper()
	dir := t.TempDir()
	testenv.NoError(t, os.CopyFS(dir, s.files))
	opened, w := conformance.NewEmpty(t, openIn(dir), blind(t, dir)), s.eve
	w.Clock, w.Store, w.Service, w.Gate, w.Host = opened.Clock, opened.Store, opened.Service, opened.Gate, opened.Host
	table := service.Ops
	if l.method != nil {
		table = l.method(s.ann.Ann.Actor())
	}
	return serveTable(t, &w, table, func(next http.Handler) http.Handler {
		if l.wrap != nil {
			next = l.wrap(s, next)
		}
		return next
	})
}

// A mismatch is a pair of answers that tell a secret from an unknown text.
type mismatch struct {
	op, transport, field string
	secret               secret
	answer, other        string // to the secret, and to its twin
}

func (m mismatch) String() string {
	return fmt.Sprintf("%s by %s tells of %q in %s:\n%s\nand of %q\n%s", m.op, m.transport, m.secret.text, m.field,
		m.answer, m.secret.twin, m.other)
}

// mismatches calls an operation over every transport with secrets in text fields, and yields the answers that
// differ from those to their twins. It counts the pairs of calls.
func (s *isolationScene) mismatches(h *testServer, o *op.Op, fields []string, tried *atomic.Int64) iter.Seq[mismatch] {
	return func(yield func(mismatch) bool) {
		h.t.Helper()
		base := fixtureOf(h.t, o.Name).args(testScene{h.World, h.t})
		for n, w := range transports {
			if !w.supports(o, callShape{}) || o.Access == op.Public && w.name != "rest" {
				continue
			}
			// the call has changed the record now
			if !fixtures[o.Name].alone {
				w.call(h, o, h.Call(ownerOf(o)), base)
			}
			for _, field := range fields {
				if allowedDisclosures[o.Name+" "+field] != "" {
					continue
				}
				inputs := baseArgs(o, base, field)
				if onlyIDs(n) && !s.whole {
					inputs = inputs[:1]
				}
				for _, tries := range s.sample(h.t, o, field, n) {
					for _, in := range inputs {
						m := mismatch{op: o.Name, transport: w.name, field: field, secret: tries}
						m.answer = normalizedAnswer(h, w, o, in, field, tries.text)
						m.other = normalizedAnswer(h, w, o, in, field, tries.twin)
						if tried.Add(1); m.answer != m.other && !yield(m) {
							return
						}
					}
				}
			}
		}
	}
}

// withNewRecords returns the arguments with the ids of new records.
func withNewRecords(h *testServer, o *op.Op, base args) args {
	out := mergeArgs(base, nil)
	for name, value := range fixtureOf(h.t, o.Name).args(testScene{h.World, h.t}) {
		if _, given := base[name]; given && resourceOf(o, name) != "" {
			out[name] = value
		}
	}
	return out
}

// grows reports whether a call changes what the next one answers, as the number of a checkpoint.
func grows(o *op.Op, field string) bool {
	resource, _, _ := strings.Cut(o.Name, ".")
	return (resource == "session" || resource == "unit") && !o.ReadOnly && resourceOf(o, field) == "" &&
		o.Name != service.SessionStart.Name
}

// baseArgs returns the arguments beside a text: all of them. If the text may name a record or a page, it returns the
// required ones alone too.
func baseArgs(o *op.Op, all args, field string) []args {
	if !strings.HasSuffix(strings.ToLower(field), "id") && field != "cursor" {
		return []args{all}
	}
	few := args{}
	for _, f := range o.Fields() {
		if v, given := all[f.Name]; given && f.Required {
			few[f.Name] = v
		}
	}
	return []args{all, few}
}

// addRecords gives ann records that eve does not have.
func addRecords(h *testServer) {
	ctx, ann, t := h.t.Context(), h.Ann.Actor(), h.t
	team := testenv.Must(h.Service.CreateWorkspace(ctx, ann,
		loci.CreateWorkspace{Name: "Tapir guild"}))(t).Workspace
	atlas := testenv.Must(h.Service.CreateAtlas(ctx, ann,
		loci.CreateAtlas{Name: "Okapi plans", WorkspaceID: team.ID, Keywords: loci.Keywords{"quagga"},
			Description: "Where okapis go."}))(t).Atlas
	for i := range 3 {
		content := loci.Content(fmt.Sprintf("Zebra %d: the launch code of the quagga is %d", i, 7000+i))
		source := &loci.Source{Name: "bongo", URI: "https://kudu.example.org/gerenuk", Group: "impala"}
		testenv.Must(h.Service.CreateMemory(ctx, ann,
			loci.CreateMemory{Content: content, AtlasID: atlas.ID, Tags: loci.Tags{"oryx"}, Source: source}))(t)
	}
	testenv.Must(h.Service.CreateInvitations(ctx, ann,
		loci.CreateInvitations{WorkspaceID: team.ID, Emails: loci.Emails{"gnu@example.org", "topi@example.org"}}))(t)
	h.Join(t, team.ID, h.Ann, h.Cid, loci.RoleMember)
}

// textFields lists the text fields of an operation: "title", "tags", "source.uri".
func textFields(o *op.Op) (names []string) {
	for _, f := range o.Fields() {
		switch {
		case f.Type == "string":
			names = append(names, f.Name)
		case f.Type == "object":
			for _, inner := range o.InputSchema().Properties[f.Name].PropertyOrder {
				if o.InputSchema().Properties[f.Name].Properties[inner].Type == "string" {
					names = append(names, f.Name+"."+inner)
				}
			}
		}
	}
	return names
}

// withText returns the arguments with a text in a field.
func withText(o *op.Op, base args, field, s string) args {
	if outer, inner, nested := strings.Cut(field, "."); nested {
		return mergeArgs(base, args{outer: args{inner: s}})
	}
	if f := fieldOf(o, field); f.List {
		return mergeArgs(base, args{field: []any{s}})
	}
	return mergeArgs(base, args{field: s})
}

// fieldOf returns a field of an operation, or the zero one.
func fieldOf(o *op.Op, name string) (f op.Field) {
	if i := slices.IndexFunc(o.Fields(), func(f op.Field) bool { return f.Name == name }); i >= 0 {
		f = o.Fields()[i]
	}
	return f
}

// resourceOf returns the resource whose id a field has. Clients choose other ids, such as those of events.
func resourceOf(o *op.Op, field string) string { return fieldOf(o, field).Resource }
