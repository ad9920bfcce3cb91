package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// workspaceFixtures are the fixtures of workspaces and members.
var workspaceFixtures = map[string]fixture{
	service.WorkspaceList.Name: {needs: accountAccess, args: fixed(args{"limit": 1}),
		refusals: []refusal{badCursor(nil)}},
	service.WorkspaceGet.Name: {needs: member, args: inTeam, names: []string{"workspaceId"}},
	service.WorkspaceCreate.Name: {
		needs: accountAccess,
		args:  fixed(args{"name": "Harbour"}),
		refusals: []refusal{{name: "no room in the plan", code: loci.CodeQuotaExceeded, exhausted: true,
			args: fixed(args{"name": "One more"})}},
	},
	service.WorkspaceUpdate.Name: {
		needs:   admin,
		accepts: archivedAtlases,
		args:    withTeam(args{"name": "Boat", "settings": args{"secrets": "redact"}}),
		names:   []string{"workspaceId"},
		refusals: []refusal{
			{name: "changed meanwhile", code: loci.CodeVersionConflict, ifMatch: `"stale"`,
				args: withTeam(args{"name": "Crew"})},
			{name: "nothing to change", code: loci.CodeInvalidQuery, args: inTeam},
			archivedRefusal(args{"name": "Crew"}),
		},
	},
	service.WorkspaceArchive.Name: {
		needs:   owner,
		accepts: archivedAtlases,
		args:    func(s testScene) args { return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "archived": true} },
		names:   []string{"workspaceId"},
		refusals: []refusal{
			personalRefusal(nil),
			{name: "active already", code: loci.CodeStateConflict, args: withTeam(args{"archived": false})},
		},
	},
	service.WorkspaceDelete.Name: {
		needs:   owner,
		accepts: archivedContainers,
		args:    func(s testScene) args { return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "dry_run": false} },
		names:   []string{"workspaceId"},
		refusals: []refusal{
			personalRefusal(args{"dry_run": true}),
			{name: "not empty", code: loci.CodeWorkspaceNotEmpty, args: func(s testScene) args {
				id := s.NewTeam(s.t, s.Ann)
				testenv.Must(s.Service.CreateAtlas(s.t.Context(), s.Ann.Actor(),
					loci.CreateAtlas{Name: "Shelf", WorkspaceID: id}))(s.t)
				return args{"workspaceId": id}
			}},
		},
	},
	service.WorkspaceLeave.Name: {
		server:  true,
		needs:   member,
		accepts: archivedContainers,
		args:    func(s testScene) args { return args{"workspaceId": s.SharedTeam(s.t, s.Fay), "confirm": true} },
		names:   []string{"workspaceId"},
		refusals: []refusal{
			personalRefusal(args{"confirm": true}),
			{name: "owner", code: loci.CodeStateConflict, args: withTeam(args{"confirm": true})},
			{name: "not confirmed", code: loci.CodeInvalidQuery, args: withTeam(args{"confirm": false})},
		},
	},
	service.WorkspaceTransfer.Name: {
		server:  true,
		needs:   owner,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "userId": s.Bob.ID, "confirm": true}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "to nobody there", code: loci.CodeNotFound, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Eve.ID, "confirm": true})
			}},
			{name: "to oneself", code: loci.CodeStateConflict, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Ann.ID, "confirm": true})
			}},
			archivedRefusal(args{"userId": loci.ID("01890000-0000-7000-8000-000000000000"), "confirm": true}),
		},
	},
	service.MemberUpdate.Name: {
		server:  true,
		needs:   owner,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "userId": s.Cid.ID, "role": "admin", "confirm": true}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "own role", code: loci.CodeStateConflict, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Ann.ID, "role": "member", "confirm": true})
			}},
			{name: "owner as role", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Cid.ID, "role": "owner", "confirm": true})
			}},
			{name: "no member", code: loci.CodeNotFound, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Eve.ID, "role": "admin", "confirm": true})
			}},
		},
	},
	service.MemberRemove.Name: {
		server:  true,
		needs:   admin,
		accepts: archivedContainers,
		args: func(s testScene) args {
			return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "userId": s.Cid.ID, "confirm": true}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "owner", code: loci.CodeStateConflict, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Ann.ID, "confirm": true})
			}},
			{name: "no member", code: loci.CodeNotFound, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"userId": s.Eve.ID, "confirm": true})
			}},
		},
	},
	service.MemberList.Name: {
		needs: member,
		args:  func(s testScene) args { return args{"workspaceId": s.Team, "limit": 2} },
		names: []string{"workspaceId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery,
			args: withTeam(args{"cursor": foreignCursor})}},
	},
}

func (s testScene) personal() loci.ID {
	list := testenv.Must(s.Service.ListWorkspaces(s.t.Context(), s.Ann.Actor(),
		loci.ListWorkspaces{Paging: loci.Paging{Limit: 100}}))(s.t)
	return list.Workspaces[len(list.Workspaces)-1].ID
}

func (s testScene) inbox() loci.ID {
	list := testenv.Must(s.Service.ListAtlases(s.t.Context(), s.Ann.Actor(),
		loci.ListAtlases{WorkspaceID: s.personal(), Paging: loci.Paging{Limit: 100}}))(s.t)
	return list.Atlases[len(list.Atlases)-1].ID
}

// personalRefusal is the refusal to do with a personal workspace as with a team's.
func personalRefusal(in args) refusal {
	return refusal{name: "personal workspace", code: loci.CodeStateConflict, args: func(s testScene) args {
		return mergeArgs(in, args{"workspaceId": s.personal()})
	}}
}

// archivedRefusal is the refusal to change an archived workspace.
func archivedRefusal(in args) refusal {
	return refusal{name: "archived", code: loci.CodeStateConflict, args: func(s testScene) args {
		id := s.NewTeam(s.t, s.Ann)
		testenv.Must(s.Service.ArchiveWorkspace(s.t.Context(), s.Ann.Actor(),
			loci.ArchiveWorkspace{WorkspaceID: id}))(s.t)
		return mergeArgs(in, args{"workspaceId": id})
	}}
}

func inTeam(s testScene) args { return args{"workspaceId": s.Team} }

// withTeam returns arguments that name the team workspace, and more.
func withTeam(more args) func(testScene) args {
	return func(s testScene) args { return mergeArgs(inTeam(s), more) }
}

// mismatchedAtlas is the refusal of an atlas in a workspace that is not its own.
func mismatchedAtlas(atlas, workspace string, more args) refusal {
	return refusal{name: "atlas and workspace disagree", code: loci.CodeAtlasWorkspaceMismatch,
		args: func(s testScene) args {
			return mergeArgs(more, args{atlas: s.Atlas(s.t, "Shelf"), workspace: s.personal()})
		}}
}
