package service_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// membersOf returns the roles of a workspace's members by name.
func membersOf(t *testing.T, w *World, caller Caller, id loci.ID) map[string]loci.Role {
	t.Helper()
	roles := map[string]loci.Role{}
	for _, m := range MustCall(t, w, caller, service.MemberList, loci.ListMembers{WorkspaceID: id}).Members {
		roles[m.Name] = m.Role
	}
	return roles
}

func TestRefusalsOfTeamsNameTheWayOut(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	expect := func(e *loci.Error, want string) {
		t.Helper()
		testenv.Contains(t, e.Message, want)
	}
	const owner = "ask the owner."
	expect(MustFail(t, w, CallerAdmin, service.MemberUpdate, loci.UpdateMember{WorkspaceID: w.Team, UserID: w.Cid.ID,
		Role: "admin", Confirm: true}, loci.CodeForbidden), owner)
	expect(MustFail(t, w, CallerAdmin, service.WorkspaceTransfer, loci.TransferWorkspace{
		WorkspaceID: w.Team, UserID: w.Bob.ID, Confirm: true}, loci.CodeForbidden), owner)
	expect(MustFail(t, w, CallerMember, service.WorkspaceUpdate, loci.UpdateWorkspace{
		WorkspaceID: w.Team, Name: ptr(loci.Name("x"))}, loci.CodeForbidden), "ask an owner or admin")
	expect(MustFail(t, w, CallerAdmin, service.MemberRemove, loci.RemoveMember{WorkspaceID: w.Team, UserID: w.Bob.ID,
		Confirm: true}, loci.CodeForbidden), "An admin can leave.")
	for _, p := range MustCall(t, w, CallerOwner, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
		if p.Kind == loci.WorkspacePersonal {
			expect(MustFail(t, w, CallerOwner, service.WorkspaceLeave, loci.LeaveWorkspace{
				WorkspaceID: p.ID, Confirm: true}, loci.CodeStateConflict), "belongs to its user alone")
		}
	}
}

func TestFormerMemberIsOutAtOnce(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		id := mustCreate(t, w, CallerMember, w.Atlas(t, "Shelf"), "the tide turns at noon")
		search := loci.SearchMemories{Query: "tide"}
		testenv.RequireEqual(t, len(MustCall(t, w, CallerMember, service.MemorySearch, search).Memories), 1, "found")
		MustCall(t, w, CallerMember, service.WorkspaceLeave, loci.LeaveWorkspace{WorkspaceID: w.Team, Confirm: true})
		MustFail(t, w, CallerMember, service.MemoryGet, loci.GetMemory{MemoryID: id}, loci.CodeNotFound)
		testenv.Len(t, MustCall(t, w, CallerMember, service.MemorySearch, search).Memories, 0, "a former member finds")
		testenv.Equal(t, w.Get(t, id).CreatedBy, w.Cid.ID, "what was written stays")
		MustFail(t, w, CallerOwner, service.WorkspaceLeave, loci.LeaveWorkspace{WorkspaceID: w.Team, Confirm: true},
			loci.CodeStateConflict)
	})
}

// In an archived workspace what only takes away is allowed.
func TestArchivedWorkspaceAllowsLeaving(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		owner, team := CallerOwner, w.Team
		atlas := w.Atlas(t, "Shelf")
		id := mustCreate(t, w, owner, atlas, "a memory")
		guest := w.Invite(t, team, w.Ann, w.Eve, loci.RoleMember)
		shelf := MustCall(t, w, CallerAdmin, service.AtlasArchive, loci.ArchiveAtlas{AtlasID: atlas}).Atlas
		if shelf.ArchivedAt != shelf.UpdatedAt || shelf.ArchivedBy != w.Bob.ID {
			t.Errorf("an archived atlas shows %+v", shelf)
		}
		shelf = MustCall(t, w, owner, service.AtlasArchive,
			loci.ArchiveAtlas{AtlasID: atlas, Archived: ptr(false)}).Atlas
		testenv.Equal(t, shelf.Archival, loci.Archival{}, "a restored atlas shows")
		archived := MustCall(t, w, owner, service.WorkspaceArchive, loci.ArchiveWorkspace{WorkspaceID: team}).Workspace
		if archived.ArchivedAt != archived.UpdatedAt || archived.ArchivedBy != w.Ann.ID {
			t.Errorf("an archived workspace shows %+v", archived)
		}
		MustFail(t, w, owner, service.WorkspaceArchive, loci.ArchiveWorkspace{WorkspaceID: team},
			loci.CodeStateConflict)
		for _, x := range MustCall(t, w, owner, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
			if x.ID == team {
				t.Error("an archived workspace is listed")
			}
		}
		for name, err := range map[string]error{
			"update": Try(t, w, owner, service.WorkspaceUpdate,
				loci.UpdateWorkspace{WorkspaceID: team, Name: ptr(loci.Name("x"))}),
			"invite": Try(t, w, owner, service.InvitationCreate,
				loci.CreateInvitations{WorkspaceID: team, Emails: loci.Emails{"x@example.com"}}),
			"role": Try(t, w, owner, service.MemberUpdate,
				loci.UpdateMember{WorkspaceID: team, UserID: w.Cid.ID, Role: "admin", Confirm: true}),
			"transfer": Try(t, w, owner, service.WorkspaceTransfer,
				loci.TransferWorkspace{WorkspaceID: team, UserID: w.Bob.ID, Confirm: true}),
			"accept": Try(t, w, CallerStranger, service.InvitationRespond,
				loci.RespondInvitation{InvitationID: guest, Accept: true, Confirm: true}),
			"atlas":  Try(t, w, owner, service.AtlasCreate, loci.CreateAtlas{Name: "x", WorkspaceID: team}),
			"memory": Try(t, w, owner, service.MemoryCreate, loci.CreateMemory{Content: "x", AtlasID: atlas}),
		} {
			Expect(t, fmt.Sprint(name, " in an archived workspace"), err, loci.CodeStateConflict)
		}
		for name, err := range map[string]error{
			"revoke": Try(t, w, owner, service.InvitationRevoke,
				loci.RevokeInvitation{InvitationID: guest, Confirm: true}),
			"leave": Try(t, w, CallerMember, service.WorkspaceLeave,
				loci.LeaveWorkspace{WorkspaceID: team, Confirm: true}),
			"remove": Try(t, w, owner, service.MemberRemove,
				loci.RemoveMember{WorkspaceID: team, UserID: w.Bob.ID, Confirm: true}),
			"delete": Try(t, w, owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id}),
		} {
			if err != nil {
				t.Errorf("%s in an archived workspace: %v", name, err)
			}
		}
		archived = MustCall(t, w, owner, service.WorkspaceArchive,
			loci.ArchiveWorkspace{WorkspaceID: team, Archived: ptr(false)}).Workspace
		testenv.Equal(t, archived.Archival, loci.Archival{}, "a restored workspace shows")
		MustCall(t, w, owner, service.MemoryCreate, loci.CreateMemory{Content: "x", AtlasID: atlas})
	})
}

func TestWorkspaceUpdateChangesPolicy(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		secret := loci.CreateMemory{Content: loci.Content("deploy with ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"),
			AtlasID: w.Atlas(t, "Shelf")}
		MustFail(t, w, CallerOwner, service.MemoryCreate, secret, loci.CodeSecretDetected)
		out := MustCall(t, w, CallerAdmin, service.WorkspaceUpdate,
			loci.UpdateWorkspace{WorkspaceID: w.Team, Settings: &loci.ChangeSettings{Secrets: ptr(loci.SecretsAllow)}})
		if out.Workspace.Settings.Secrets != loci.SecretsAllow || out.Workspace.Name != "Crew" {
			t.Errorf("%+v", out.Workspace)
		}
		MustCall(t, w, CallerOwner, service.MemoryCreate, secret)
		MustFail(t, w, CallerMember, service.WorkspaceUpdate,
			loci.UpdateWorkspace{WorkspaceID: w.Team, Name: ptr(loci.Name("Mine"))}, loci.CodeForbidden)
	})
}
