package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// In archived containers a memory can be reviewed, and what is in them can be deleted or left.
var acceptedInArchived = []string{"memory.verify", "memory.delete", "atlas.delete", "workspace.delete",
	"workspace.leave", "member.remove", "invitation.revoke"}

// ofWorkspace are the operations on a workspace alone, which archived atlases do not concern.
var ofWorkspace = []string{"workspace.update", "workspace.archive", "workspace.transfer", "member.update",
	"invitation.create", "atlas.create", "agent.send", "auto.set"}

// rulesOfContainers are the rules of operations on what is in a workspace.
var rulesOfContainers = []accessRule{member, admin, owner, creatorOrManager, sessionOwner, sessionManager}

// TestArchivedContainersRefuseChanges calls every operation that changes records of a workspace, with archived atlases
// and with archived workspaces.
func TestArchivedContainersRefuseChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		archived string
		accepted []string
	}{{"workspaces", acceptedInArchived}, {"atlases", slices.Concat(acceptedInArchived, ofWorkspace)}} {
		t.Run(c.archived, func(t *testing.T) {
			t.Parallel()
			d := storetest.Database{Engine: sqlite.Driver, Dir: storetest.NewDir(t)}
			w := conformance.New(t, d.Open, withMail)
			inputs := map[string][]byte{}
			for _, o := range service.Ops.Ops {
				f := fixtureOf(t, o.Name)
				if !o.ReadOnly && !f.alone && slices.Contains(rulesOfContainers, f.needs) {
					inputs[o.Name] = conformance.Must(json.Marshal(f.args(testScene{w, t})))(t)
				}
			}
			d.Exec(t, `UPDATE `+c.archived+` SET archived = TRUE`)
			for name, in := range inputs {
				want := loci.CodeStateConflict
				if slices.Contains(c.accepted, name) {
					want = ""
				}
				o, c := service.Ops.Op(name), w.Call(conformance.CallerAgent)
				_, err := w.Host.Call(t.Context(), o, c, op.Args{JSON: in})
				if want == "" && err != nil || want != "" && !loci.Is(err, want) {
					t.Errorf("%s: %v, want %q", name, err, want)
				}
			}
		})
	}
}
