package service_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
)

// membersOf returns the roles of a workspace's members by name.
func membersOf(t *testing.T, w *conformance.World, caller conformance.Caller, id loci.ID) map[string]loci.Role {
	t.Helper()
	roles := map[string]loci.Role{}
	for _, m := range conformance.MustCall(t, w, caller, service.MemberList,
		loci.ListMembers{WorkspaceID: id}).Members {
		roles[m.Name] = m.Role
	}
	return roles
}

func TestRolesDecideWhoIsRemoved(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		ann, bob, cid := w.Ann.ID, w.Bob.ID, w.Cid.ID
		for _, c := range []struct {
			caller conformance.Caller
			target loci.ID
			want   loci.Code
		}{
			{conformance.CallerOwner, ann, loci.CodeStateConflict},
			{conformance.CallerOwner, bob, ""},
			{conformance.CallerOwner, cid, ""},
			{conformance.CallerOwner, w.Eve.ID, loci.CodeNotFound},
			{conformance.CallerAdmin, ann, loci.CodeForbidden},
			{conformance.CallerAdmin, bob, loci.CodeForbidden},
			{conformance.CallerAdmin, cid, ""},
			{conformance.CallerMember, cid, loci.CodeForbidden},
			{conformance.CallerStranger, cid, loci.CodeNotFound},
		} {
			team := w.SharedTeam(t, w.Ann)
			in := loci.RemoveMember{WorkspaceID: team, UserID: c.target, Confirm: true}
			if c.want != "" {
				conformance.MustFail(t, w, c.caller, service.MemberRemove, in, c.want)
			} else {
				conformance.MustCall(t, w, c.caller, service.MemberRemove, in)
			}
			if n := len(membersOf(t, w, conformance.CallerOwner, team)); (n == 2) != (c.want == "") {
				t.Errorf("%s removes %s: %d members", c.caller, c.target, n)
			}
		}
	})
}

func TestRefusalsOfTeamsNameTheWayOut(t *testing.T) {
	t.Parallel()
	w := conformance.New(t, conformance.OpenSQLite, conformance.Options{})
	expect := func(e *loci.Error, want string) {
		t.Helper()
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q, want %q", e.Message, want)
		}
	}
	const owner = "ask the owner."
	expect(conformance.MustFail(t, w, conformance.CallerAdmin, service.MemberUpdate,
		loci.UpdateMember{WorkspaceID: w.Team,
			UserID: w.Cid.ID, Role: "admin", Confirm: true}, loci.CodeForbidden), owner)
	expect(conformance.MustFail(t, w, conformance.CallerAdmin, service.WorkspaceTransfer, loci.TransferWorkspace{
		WorkspaceID: w.Team, UserID: w.Bob.ID, Confirm: true}, loci.CodeForbidden), owner)
	expect(conformance.MustFail(t, w, conformance.CallerMember, service.WorkspaceUpdate, loci.UpdateWorkspace{
		WorkspaceID: w.Team, Name: ptr(loci.Name("x"))}, loci.CodeForbidden), "ask an owner or admin")
	expect(conformance.MustFail(t, w, conformance.CallerAdmin, service.MemberRemove,
		loci.RemoveMember{WorkspaceID: w.Team,
			UserID: w.Bob.ID, Confirm: true}, loci.CodeForbidden), "An admin can leave.")
	for _, p := range conformance.MustCall(t, w, conformance.CallerOwner, service.WorkspaceList,
		loci.ListWorkspaces{}).Workspaces {
		if p.Kind == loci.WorkspacePersonal {
			expect(conformance.MustFail(t, w, conformance.CallerOwner, service.WorkspaceLeave, loci.LeaveWorkspace{
				WorkspaceID: p.ID, Confirm: true}, loci.CodeStateConflict), "belongs to its user alone")
		}
	}
}

func TestFormerMemberIsOutAtOnce(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		id := mustCreate(t, w, conformance.CallerMember, w.Atlas(t, "Shelf"), "the tide turns at noon")
		search := loci.SearchMemories{Query: "tide"}
		if n := len(conformance.MustCall(t, w, conformance.CallerMember, service.MemorySearch,
			search).Memories); n != 1 {
			t.Fatalf("%d found", n)
		}
		conformance.MustCall(t, w, conformance.CallerMember, service.WorkspaceLeave,
			loci.LeaveWorkspace{WorkspaceID: w.Team, Confirm: true})
		conformance.MustFail(t, w, conformance.CallerMember, service.MemoryGet, loci.GetMemory{MemoryID: id},
			loci.CodeNotFound)
		if n := len(conformance.MustCall(t, w, conformance.CallerMember, service.MemorySearch,
			search).Memories); n != 0 {
			t.Errorf("a former member finds %d", n)
		}
		if m := w.Get(t, id); m.CreatedBy != w.Cid.ID {
			t.Errorf("what was written stays: %+v", m)
		}
		conformance.MustFail(t, w, conformance.CallerOwner, service.WorkspaceLeave,
			loci.LeaveWorkspace{WorkspaceID: w.Team, Confirm: true}, loci.CodeStateConflict)
	})
}

func TestTransferKeepsOneOwner(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{Plan: smallPlan}, func(t *testing.T, w *conformance.World) {
		transfer := func(to loci.ID) loci.TransferWorkspace {
			return loci.TransferWorkspace{WorkspaceID: w.Team, UserID: to, Confirm: true}
		}
		for range 3 { // bob's plan has no room for a fourth team
			conformance.MustCall(t, w, conformance.CallerAdmin, service.WorkspaceCreate,
				loci.CreateWorkspace{Name: "Bob's"})
		}
		conformance.MustFail(t, w, conformance.CallerOwner, service.WorkspaceTransfer, transfer(w.Bob.ID),
			loci.CodeStateConflict)
		conformance.MustFail(t, w, conformance.CallerAdmin, service.WorkspaceTransfer, transfer(w.Bob.ID),
			loci.CodeForbidden)
		out := conformance.MustCall(t, w, conformance.CallerOwner, service.WorkspaceTransfer, transfer(w.Cid.ID))
		if out.Workspace.Role != loci.RoleAdmin {
			t.Errorf("%+v", out.Workspace)
		}
		roles := membersOf(t, w, conformance.CallerOwner, w.Team)
		if len(roles) != 3 || roles["ann"] != loci.RoleAdmin || roles["cid"] != loci.RoleOwner {
			t.Errorf("%v", roles)
		}
		conformance.MustFail(t, w, conformance.CallerOwner, service.WorkspaceTransfer, transfer(w.Ann.ID),
			loci.CodeForbidden)
		conformance.MustCall(t, w, conformance.CallerOwner, service.WorkspaceLeave,
			loci.LeaveWorkspace{WorkspaceID: w.Team, Confirm: true})
	})
}

// A caller who becomes the owner while waiting for the lock hands over the own role, not that of the former owner.
func TestTransfersAtOnceKeepOneOwner(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		people := []*conformance.Person{w.Ann, w.Bob, w.Cid}
		var done sync.WaitGroup
		for i, caller := range []conformance.Caller{
			conformance.CallerOwner, conformance.CallerAdmin, conformance.CallerMember} {
			done.Go(func() {
				for n := range 40 {
					err := conformance.Try(t, w, caller, service.WorkspaceTransfer,
						loci.TransferWorkspace{WorkspaceID: w.Team,
							UserID: people[(i+1+n%2)%3].ID, Confirm: true})
					if err != nil && !loci.Is(err, loci.CodeForbidden) {
						t.Errorf("a transfer beside others: %v", err)
					}
				}
			})
		}
		done.Wait()
		owners := 0
		for _, role := range membersOf(t, w, conformance.CallerOwner, w.Team) {
			if role == loci.RoleOwner {
				owners++
			}
		}
		if owners != 1 {
			t.Errorf("%d owners", owners)
		}
	})
}

// In an archived workspace what only takes away is allowed.
func TestArchivedWorkspaceAllowsLeaving(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		owner, team := conformance.CallerOwner, w.Team
		atlas := w.Atlas(t, "Shelf")
		id := mustCreate(t, w, owner, atlas, "a memory")
		guest := w.Invite(t, team, w.Ann, w.Eve, loci.RoleMember)
		conformance.MustCall(t, w, owner, service.WorkspaceArchive, loci.ArchiveWorkspace{WorkspaceID: team})
		conformance.MustFail(t, w, owner, service.WorkspaceArchive, loci.ArchiveWorkspace{WorkspaceID: team},
			loci.CodeStateConflict)
		for _, x := range conformance.MustCall(t, w, owner, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
			if x.ID == team {
				t.Error("an archived workspace is listed")
			}
		}
		for name, err := range map[string]error{
			"update": conformance.Try(t, w, owner, service.WorkspaceUpdate,
				loci.UpdateWorkspace{WorkspaceID: team, Name: ptr(loci.Name("x"))}),
			"invite": conformance.Try(t, w, owner, service.InvitationCreate,
				loci.CreateInvitations{WorkspaceID: team, Emails: loci.Emails{"x@example.com"}}),
			"role": conformance.Try(t, w, owner, service.MemberUpdate,
				loci.UpdateMember{WorkspaceID: team, UserID: w.Cid.ID, Role: "admin", Confirm: true}),
			"transfer": conformance.Try(t, w, owner, service.WorkspaceTransfer,
				loci.TransferWorkspace{WorkspaceID: team, UserID: w.Bob.ID, Confirm: true}),
			"accept": conformance.Try(t, w, conformance.CallerStranger, service.InvitationRespond,
				loci.RespondInvitation{InvitationID: guest, Accept: true, Confirm: true}),
			"atlas": conformance.Try(t, w, owner, service.AtlasCreate, loci.CreateAtlas{Name: "x", WorkspaceID: team}),
			"memory": conformance.Try(t, w, owner, service.MemoryCreate, loci.CreateMemory{Content: "x",
				AtlasID: atlas}),
		} {
			if !loci.Is(err, loci.CodeStateConflict) {
				t.Errorf("%s in an archived workspace: %v", name, err)
			}
		}
		for name, err := range map[string]error{
			"revoke": conformance.Try(t, w, owner, service.InvitationRevoke,
				loci.RevokeInvitation{InvitationID: guest, Confirm: true}),
			"leave": conformance.Try(t, w, conformance.CallerMember, service.WorkspaceLeave,
				loci.LeaveWorkspace{WorkspaceID: team, Confirm: true}),
			"remove": conformance.Try(t, w, owner, service.MemberRemove,
				loci.RemoveMember{WorkspaceID: team, UserID: w.Bob.ID, Confirm: true}),
			"delete": conformance.Try(t, w, owner, service.MemoryDelete, loci.DeleteMemory{MemoryID: id}),
		} {
			if err != nil {
				t.Errorf("%s in an archived workspace: %v", name, err)
			}
		}
		conformance.MustCall(t, w, owner, service.WorkspaceArchive,
			loci.ArchiveWorkspace{WorkspaceID: team, Archived: ptr(false)})
		conformance.MustCall(t, w, owner, service.MemoryCreate, loci.CreateMemory{Content: "x", AtlasID: atlas})
	})
}

func TestRevokedInvitationIsAnsweredByNobody(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		revoke := func(id loci.ID) loci.RevokeInvitation {
			return loci.RevokeInvitation{InvitationID: id, Confirm: true}
		}
		id := w.Invite(t, w.Team, w.Ann, w.Eve, loci.RoleMember)
		conformance.MustFail(t, w, conformance.CallerStranger, service.InvitationRevoke, revoke(id), loci.CodeNotFound)
		conformance.MustFail(t, w, conformance.CallerMember, service.InvitationRevoke, revoke(id), loci.CodeForbidden)
		conformance.MustCall(t, w, conformance.CallerAdmin, service.InvitationRevoke, revoke(id))
		conformance.MustFail(t, w, conformance.CallerStranger, service.InvitationRespond,
			loci.RespondInvitation{InvitationID: id, Accept: true, Confirm: true}, loci.CodeStateConflict)
		again := w.Invite(t, w.Team, w.Ann, w.Eve, loci.RoleMember)
		conformance.MustCall(t, w, conformance.CallerStranger, service.InvitationRespond,
			loci.RespondInvitation{InvitationID: again, Accept: true, Confirm: true})
		conformance.MustFail(t, w, conformance.CallerOwner, service.InvitationRevoke, revoke(again),
			loci.CodeStateConflict)
	})
}

func TestWorkspaceUpdateChangesPolicy(t *testing.T) {
	t.Parallel()
	conformance.Each(t, conformance.Options{}, func(t *testing.T, w *conformance.World) {
		secret := loci.CreateMemory{Content: loci.Content("deploy with ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"),
			AtlasID: w.Atlas(t, "Shelf")}
		conformance.MustFail(t, w, conformance.CallerOwner, service.MemoryCreate, secret, loci.CodeSecretDetected)
		out := conformance.MustCall(t, w, conformance.CallerAdmin, service.WorkspaceUpdate,
			loci.UpdateWorkspace{WorkspaceID: w.Team,
				Settings: &loci.ChangeSettings{Secrets: ptr(loci.SecretsAllow)}})
		if out.Workspace.Settings.Secrets != loci.SecretsAllow || out.Workspace.Name != "Crew" {
			t.Errorf("%+v", out.Workspace)
		}
		conformance.MustCall(t, w, conformance.CallerOwner, service.MemoryCreate, secret)
		conformance.MustFail(t, w, conformance.CallerMember, service.WorkspaceUpdate,
			loci.UpdateWorkspace{WorkspaceID: w.Team, Name: ptr(loci.Name("Mine"))}, loci.CodeForbidden)
	})
}
