package proof_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// args are the arguments of one call: a flat JSON object.
type args = map[string]any

// A scene is a world in which an operation is called.
type scene struct {
	*proof.World
	t testing.TB
}

// A fixture is how an operation is tried: with valid arguments that name
// records of ann's wherever there is a field for one. They are made anew for
// each call, so that a call can change what it names.
type fixture struct {
	args func(s scene) args
	// names are the fields that name one record.
	names []string
	// empty is set where the operation is done in a world without people.
	empty bool
	also  []refusal
}

// A refusal is a documented error beside those that follow from the table.
type refusal struct {
	name    string
	code    loci.Code
	args    func(s scene) args
	ifMatch string // travels beside the arguments
	// tight is set where the plan has to be one without room.
	tight bool
}

func none(scene) args { return args{} }

var counter atomic.Int64

// fresh returns a text that was not there before, always as long.
func fresh(prefix string) string { return fmt.Sprintf("%s%06d", prefix, counter.Add(1)) }

const password = "correct horse battery"

// foreign is a cursor of another question, of the right form.
var foreign = strings.Repeat("A", 80)

func badCursor(in args) refusal {
	return refusal{name: "foreign cursor", code: loci.InvalidQuery, args: func(s scene) args { return with(in, args{"cursor": foreign}) }}
}

func with(a, b args) args {
	out := args{}
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}

// shelf returns an atlas of the crew with two memories. There is one in a
// world, for what others hold moves scores.
func (s scene) shelf() (atlas, memory string) {
	list := proof.Must(s.Service.ListMemories(s.t.Context(), s.Ann.Actor(), loci.ListMemories{WorkspaceID: s.Crew, Tags: loci.Tags{"shelf"}}))(s.t)
	if len(list.Memories) == 0 {
		atlas = s.Atlas(s.t, "Shelf")
		s.Memory(s.t, atlas, "# Tide\nThe tide turns at noon.", "shelf")
		return atlas, s.Memory(s.t, atlas, "The harbour closes when the tide is low.", "shelf")
	}
	return list.Memories[0].AtlasID, list.Memories[0].ID
}

func (s scene) invitation() string {
	return s.Invite(s.t, s.Team(s.t, s.Fay), s.Fay, s.Ann, loci.Member)
}

func (s scene) personal() string {
	list := proof.Must(s.Service.ListWorkspaces(s.t.Context(), s.Ann.Actor(), loci.ListWorkspaces{}))(s.t)
	return list.Workspaces[len(list.Workspaces)-1].ID
}

func crew(s scene) args { return args{"workspaceId": s.Crew} }

// fixtures has one for each operation of the table.
var fixtures = map[string]fixture{
	service.MemoryCreate.Name: {
		args: func(s scene) args {
			return args{"content": ropes(), "atlasId": s.Atlas(s.t, "Shelf"), "tags": []any{"sea", "time"}, "type": "fact",
				"source": args{"name": "log", "position": 7}}
		},
		names: []string{"atlasId"},
		also: []refusal{
			{name: "atlas and workspace disagree", code: loci.AtlasWorkspaceMismatch, args: func(s scene) args {
				return args{"content": "x", "atlasId": s.Atlas(s.t, "Shelf"), "workspaceId": s.personal()}
			}},
			{name: "title too long", code: loci.InvalidQuery, args: func(scene) args { return args{"content": "x", "title": strings.Repeat("é", 301)} }},
			{name: "content too long", code: loci.InvalidQuery, args: func(scene) args { return args{"content": strings.Repeat("x", loci.MaxContent+1)} }},
			{name: "unknown type", code: loci.InvalidQuery, args: func(scene) args { return args{"content": "x", "type": "opinion"} }},
		},
	},
	service.MemoryGet.Name: {
		args:  func(s scene) args { _, m := s.shelf(); return args{"memoryId": m} },
		names: []string{"memoryId"},
	},
	service.MemoryList.Name: {
		args:  func(s scene) args { a, _ := s.shelf(); return args{"atlas_id": a, "limit": 1} },
		names: []string{"atlas_id"},
		also: []refusal{
			badCursor(nil),
			{name: "atlas and workspace disagree", code: loci.AtlasWorkspaceMismatch, args: func(s scene) args {
				return args{"atlas_id": s.Atlas(s.t, "Shelf"), "workspace_id": s.personal()}
			}},
		},
	},
	service.MemorySearch.Name: {
		args:  func(s scene) args { a, _ := s.shelf(); return args{"query": "low tide", "atlas_id": a, "limit": 1} },
		names: []string{"atlas_id"},
		also: []refusal{
			badCursor(args{"query": "tide"}),
			{name: "empty query", code: loci.InvalidQuery, args: func(scene) args { return args{"query": ""} }},
			{name: "unknown mode", code: loci.InvalidQuery, args: func(scene) args { return args{"query": "tide", "mode": "magic"} }},
		},
	},

	service.AtlasList.Name: {
		args:  func(s scene) args { return args{"workspace_id": s.Crew} },
		names: []string{"workspace_id"},
		also:  []refusal{badCursor(nil)},
	},
	service.AtlasGet.Name: {
		args:  func(s scene) args { return args{"atlasId": s.Atlas(s.t, "Shelf")} },
		names: []string{"atlasId"},
	},
	service.AtlasCreate.Name: {
		args: func(s scene) args {
			return args{"name": "Ships", "workspaceId": s.Crew, "keywords": []any{"bark", "brig"}, "description": "What floats."}
		},
		names: []string{"workspaceId"},
		also: []refusal{
			{name: "no room in the plan", code: loci.QuotaExceeded, tight: true, args: func(scene) args { return args{"name": "One more"} }},
			{name: "blank name", code: loci.InvalidQuery, args: func(scene) args { return args{"name": "  "} }},
		},
	},
	service.AtlasUpdate.Name: {
		args: func(s scene) args {
			return args{"atlasId": s.Atlas(s.t, "Shelf"), "name": "Ships", "keywords": []any{}, "description": ""}
		},
		names: []string{"atlasId"},
		also: []refusal{
			{name: "changed meanwhile", code: loci.VersionConflict, ifMatch: `"stale"`, args: func(s scene) args { return args{"atlasId": s.Atlas(s.t, "Shelf"), "name": "Ships"} }},
			{name: "nothing to change", code: loci.InvalidQuery, args: func(s scene) args { return args{"atlasId": s.Atlas(s.t, "Shelf")} }},
		},
	},

	service.WorkspaceList.Name: {args: func(scene) args { return args{"limit": 1} }, also: []refusal{badCursor(nil)}},
	service.WorkspaceGet.Name:  {args: crew, names: []string{"workspaceId"}},
	service.WorkspaceCreate.Name: {
		args: func(scene) args { return args{"name": "Harbour"} },
		also: []refusal{{name: "no room in the plan", code: loci.QuotaExceeded, tight: true, args: func(scene) args { return args{"name": "One more"} }}},
	},
	service.MemberList.Name: {
		args:  func(s scene) args { return args{"workspaceId": s.Crew, "limit": 2} },
		names: []string{"workspaceId"},
		also:  []refusal{{name: "foreign cursor", code: loci.InvalidQuery, args: func(s scene) args { return with(crew(s), args{"cursor": foreign}) }}},
	},

	service.InvitationList.Name: {
		args:  func(s scene) args { return crew(s) },
		names: []string{"workspaceId"},
		also:  []refusal{{name: "foreign cursor", code: loci.InvalidQuery, args: func(s scene) args { return with(crew(s), args{"cursor": foreign}) }}},
	},
	service.InvitationCreate.Name: {
		args: func(s scene) args {
			return args{"workspaceId": s.Crew, "emails": []any{fresh("guest") + "@example.com", s.Cid.Email}, "expiresInDays": 3}
		},
		names: []string{"workspaceId"},
		also: []refusal{
			{name: "personal workspace", code: loci.StateConflict, args: func(s scene) args {
				return args{"workspaceId": s.personal(), "emails": []any{"guest@example.com"}}
			}},
			{name: "malformed address", code: loci.InvalidQuery, args: func(s scene) args { return with(crew(s), args{"emails": []any{"a guest"}}) }},
			{name: "nobody", code: loci.InvalidQuery, args: func(s scene) args { return with(crew(s), args{"emails": []any{}}) }},
		},
	},
	service.InvitationPending.Name: {args: func(scene) args { return args{"limit": 1} }, also: []refusal{badCursor(nil)}},
	service.InvitationRespond.Name: {
		args:  func(s scene) args { return args{"invitationId": s.invitation(), "accept": true, "confirm": true} },
		names: []string{"invitationId"},
		also: []refusal{
			{name: "answered already", code: loci.StateConflict, args: func(s scene) args {
				id := s.invitation()
				in := loci.RespondInvitation{InvitationID: id, Accept: false, Confirm: true}
				proof.Must(s.Service.RespondInvitation(s.t.Context(), s.Ann.Actor(), in))(s.t)
				return args{"invitationId": id, "accept": true, "confirm": true}
			}},
			{name: "not confirmed", code: loci.InvalidQuery, args: func(s scene) args { return args{"invitationId": s.Crew, "accept": true, "confirm": false} }},
		},
	},

	service.AccountStatus.Name: {args: none},
	service.AccountMe.Name:     {args: none},

	service.KeyList.Name:   {args: func(scene) args { return args{"limit": 1} }, also: []refusal{badCursor(nil)}},
	service.KeyCreate.Name: {args: func(scene) args { return args{"name": "laptop"} }},
	service.KeyRevoke.Name: {
		args: func(s scene) args {
			k := proof.Must(s.Service.AddKey(s.t.Context(), loci.Email(s.Ann.Email), "old"))(s.t)
			return args{"keyId": k.Key.ID}
		},
		names: []string{"keyId"},
	},

	service.AuthRegister.Name: {
		args: func(scene) args {
			return args{"email": fresh("new") + "@example.com", "password": password, "name": "New"}
		},
		also: []refusal{
			{name: "taken address", code: loci.Conflict, args: func(scene) args { return args{"email": "ANN@example.com", "password": password} }},
			{name: "short password", code: loci.InvalidQuery, args: func(scene) args { return args{"email": "new@example.com", "password": "short"} }},
			{name: "malformed address", code: loci.InvalidQuery, args: func(scene) args { return args{"email": "a new one", "password": password} }},
		},
	},
	service.AuthSetup.Name: {
		empty: true,
		args: func(s scene) args {
			return args{"token": s.Service.OpenSetup(), "email": "first@example.com", "password": password}
		},
		also: []refusal{{name: "used link", code: loci.NotFound, args: func(scene) args {
			return args{"token": "used", "email": "first@example.com", "password": password}
		}}},
	},
	service.AuthLogin.Name: {
		args: func(s scene) args {
			email := fresh("walker") + "@example.com"
			proof.Must(s.Service.AddUser(s.t.Context(), loci.Email(email), "Walker", password))(s.t)
			return args{"email": email, "password": password}
		},
		also: []refusal{
			{name: "wrong password", code: loci.InvalidKey, args: func(s scene) args { return args{"email": s.Ann.Email, "password": password} }},
			{name: "unknown account", code: loci.InvalidKey, args: func(scene) args { return args{"email": "nobody@example.com", "password": password} }},
		},
	},
	service.AuthLogout.Name: {args: none},
}

// fixtureOf returns the fixture of an operation, without which there is no test.
func fixtureOf(t testing.TB, name string) fixture {
	t.Helper()
	f, ok := fixtures[name]
	if !ok {
		t.Fatalf("%s has no fixture: add it to fixtures, so that it is tried at all doors", name)
	}
	return f
}

func TestFixturesAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	for name := range fixtures {
		if service.Ops.Op(name) == nil {
			t.Errorf("there is a fixture of %s, and no such operation", name)
		}
	}
	for _, o := range service.Ops.Ops {
		fixtureOf(t, o.Name)
	}
}
