package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
)

// workspaceFixtures are the fixtures of workspaces and members.
var workspaceFixtures = map[string]fixture{
	service.WorkspaceList.Name: {needs: accountAccess, args: func(testScene) args { return args{"limit": 1} },
		refusals: []refusal{badCursor(nil)}},
	service.WorkspaceGet.Name: {needs: member, args: inTeam, names: []string{"workspaceId"}},
	service.WorkspaceCreate.Name: {
		needs: accountAccess,
		args:  func(testScene) args { return args{"name": "Harbour"} },
		refusals: []refusal{{name: "no room in the plan", code: loci.CodeQuotaExceeded, exhausted: true,
			args: func(testScene) args { return args{"name": "One more"} }}},
	},
	service.MemberList.Name: {
		needs: member,
		args:  func(s testScene) args { return args{"workspaceId": s.Team, "limit": 2} },
		names: []string{"workspaceId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return mergeArgs(inTeam(s), args{"cursor": foreignCursor})
		}}},
	},
}

func (s testScene) personal() loci.ID {
	list := conformance.Must(s.Service.ListWorkspaces(s.t.Context(), s.Ann.Actor(), loci.ListWorkspaces{}))(s.t)
	return list.Workspaces[len(list.Workspaces)-1].ID
}

func inTeam(s testScene) args { return args{"workspaceId": s.Team} }
