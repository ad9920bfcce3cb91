package service_test

import (
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestOperatorSeesKeysAndWorkspaces(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		w.Memory(t, w.Atlas(t, "Shelf"), "twelve bytes")
		all := testenv.Must(w.Service.ListUserKeys(t.Context(), ""))(t).Keys
		mine := testenv.Must(w.Service.ListUserKeys(t.Context(), "Ann@example.com"))(t).Keys
		if len(mine) != 2 || mine[0].UserID != w.Ann.ID || mine[0].Email != w.Ann.Email || len(all) < 4 {
			t.Fatalf("%d keys, %+v", len(all), mine)
		}
		Expect(t, "ListUserKeys", testenv.ErrorOf(w.Service.ListUserKeys(t.Context(), "nobody@example.com")),
			loci.CodeNotFound)
		revoked := testenv.Must(w.Service.RevokeUserKey(t.Context(), mine[0].ID))(t)
		again := testenv.Must(w.Service.UserKey(t.Context(), mine[0].ID))(t)
		if revoked.RevokedAt == 0 || again != revoked {
			t.Errorf("%+v, %+v", revoked, again)
		}

		teams := testenv.Must(w.Service.ListAllWorkspaces(t.Context(), "ann@example.com"))(t).Workspaces
		every := testenv.Must(w.Service.ListAllWorkspaces(t.Context(), ""))(t).Workspaces
		if len(teams) != 3 || len(every) <= len(teams) || teams[0].OwnerID != w.Ann.ID ||
			teams[0].Kind != loci.WorkspacePersonal {
			t.Errorf("%d workspaces, %+v", len(every), teams)
		}
		for _, team := range teams {
			d := testenv.Must(w.Service.ShowWorkspace(t.Context(), team.ID))(t)
			var memories, bytes int64
			for _, a := range d.Atlases {
				memories, bytes = memories+a.MemoryCount, bytes+a.UsedBytes
			}
			if d.Workspace.WorkspaceSummary != team || int64(len(d.Members)) != team.MemberCount ||
				int64(len(d.Atlases)) != team.AtlasCount || memories != team.MemoryCount || bytes != team.UsedBytes {
				t.Errorf("%+v, listed as %+v", d, team)
			}
		}
		if total := teams[0].UsedBytes + teams[1].UsedBytes + teams[2].UsedBytes; total < 12 {
			t.Errorf("%d bytes", total)
		}
	})
}
