package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// invitationFixtures are the fixtures of invitations.
var invitationFixtures = map[string]fixture{
	service.InvitationList.Name: {
		server: true,
		needs:  admin,
		args:   func(s testScene) args { return inTeam(s) },
		names:  []string{"workspaceId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery,
			args: withTeam(args{"cursor": foreignCursor})}},
	},
	service.InvitationCreate.Name: {
		server:  true,
		needs:   admin,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			s.setVerified(true)
			return args{"workspaceId": s.Team, "emails": []any{uniqueText("guest") + "@example.com", s.Cid.Email},
				"expiresInDays": 3}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "personal workspace", code: loci.CodeStateConflict, args: func(s testScene) args {
				return args{"workspaceId": s.personal(), "emails": []any{"guest@example.com"}}
			}},
			{name: "malformed address", code: loci.CodeInvalidQuery,
				args: withTeam(args{"emails": []any{"a guest"}})},
			{name: "nobody", code: loci.CodeInvalidQuery, args: withTeam(args{"emails": []any{}})},
		},
	},
	service.InvitationRevoke.Name: {
		server:  true,
		needs:   admin,
		accepts: archivedContainers,
		args:    func(s testScene) args { return args{"invitationId": s.guest(), "confirm": true} },
		names:   []string{"invitationId"},
		refusals: []refusal{
			{name: "revoked already", code: loci.CodeStateConflict, args: func(s testScene) args {
				in := loci.RevokeInvitation{InvitationID: s.guest(), Confirm: true}
				testenv.Must(s.Service.RevokeInvitation(s.t.Context(), s.Ann.Actor(), in))(s.t)
				return args{"invitationId": in.InvitationID, "confirm": true}
			}},
			{name: "not confirmed", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"invitationId": s.Team, "confirm": false}
			}},
		},
	},
	service.InvitationPending.Name: {needs: accountAccess, server: true, args: fixed(args{"limit": 1}),
		refusals: []refusal{badCursor(nil)}},
	service.InvitationRespond.Name: {
		server:  true,
		needs:   invited,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"invitationId": s.invitation(), "accept": true, "confirm": true}
		},
		names: []string{"invitationId"},
		refusals: []refusal{
			{name: "answered already", code: loci.CodeStateConflict, args: func(s testScene) args {
				id := s.invitation()
				in := loci.RespondInvitation{InvitationID: id, Accept: false, Confirm: true}
				testenv.Must(s.Service.RespondInvitation(s.t.Context(), s.Ann.Actor(), in))(s.t)
				return args{"invitationId": id, "accept": true, "confirm": true}
			}},
			{name: "not confirmed", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"invitationId": s.Team, "accept": true, "confirm": false}
			}},
		},
	},
}

// guest invites a new address into the team workspace.
func (s testScene) guest() loci.ID {
	in := loci.CreateInvitations{WorkspaceID: s.Team,
		Emails: loci.Emails{loci.Email(uniqueText("guest") + "@example.com")}}
	return testenv.Must(s.Service.CreateInvitations(s.t.Context(), s.Ann.Actor(), in))(s.t).Invitations[0].ID
}

func (s testScene) invitation() loci.ID {
	s.setVerified(true)
	return s.Invite(s.t, s.NewTeam(s.t, s.Fay), s.Fay, s.Ann, loci.RoleMember)
}
