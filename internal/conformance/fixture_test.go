package conformance_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
)

// args are the arguments of one call: a flat JSON object.
type args = map[string]any

// A testScene is a world in which an operation is called.
type testScene struct {
	*conformance.World
	t testing.TB
}

// A fixture is how an operation is tried: with valid arguments that name
// records of ann's wherever there is a field for one. They are made anew for
// each call, so that a call can change what it names.
type fixture struct {
	args func(s testScene) args
	// names are the fields that name one record.
	names []string
	// empty is set where the operation is done in a world without people.
	empty    bool
	refusals []refusal
}

// A refusal is a documented error beside those that follow from the table.
type refusal struct {
	name    string
	code    loci.Code
	args    func(s testScene) args
	ifMatch string // travels beside the arguments
	// exhausted is set where the plan has to be one without room.
	exhausted bool
}

func noArgs(testScene) args { return args{} }

var counter atomic.Int64

// uniqueText returns a text that was not there before, always as long.
func uniqueText(prefix string) string { return fmt.Sprintf("%s%06d", prefix, counter.Add(1)) }

const password = "correct horse battery"

// foreignCursor is a cursor of another question, of the right form.
var foreignCursor = strings.Repeat("A", 80)

func badCursor(in args) refusal {
	return refusal{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
		return mergeArgs(in, args{"cursor": foreignCursor})
	}}
}

func mergeArgs(a, b args) args {
	out := args{}
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}

// newMemory returns an atlas of the crew with two memories. There is one in a
// world, for what others hold moves scores.
func (s testScene) newMemory() (atlas, memory string) {
	list := conformance.Must(s.Service.ListMemories(s.t.Context(), s.Ann.Actor(),
		loci.ListMemories{WorkspaceID: s.Team, Tags: loci.Tags{"shelf"}}))(s.t)
	if len(list.Memories) == 0 {
		atlas = s.Atlas(s.t, "Shelf")
		s.Memory(s.t, atlas, "# Tide\nThe tide turns at noon.", "shelf")
		return atlas, s.Memory(s.t, atlas, "The harbour closes when the tide is low.", "shelf")
	}
	return list.Memories[0].AtlasID, list.Memories[0].ID
}

func (s testScene) invitation() string {
	return s.Invite(s.t, s.NewTeam(s.t, s.Fay), s.Fay, s.Ann, loci.RoleMember)
}

func (s testScene) personal() string {
	list := conformance.Must(s.Service.ListWorkspaces(s.t.Context(), s.Ann.Actor(), loci.ListWorkspaces{}))(s.t)
	return list.Workspaces[len(list.Workspaces)-1].ID
}

func inTeam(s testScene) args { return args{"workspaceId": s.Team} }

// fixtures has one for each operation of the table.
var fixtures = map[string]fixture{
	service.MemoryCreate.Name: {
		args: func(s testScene) args {
			return args{"content": longText(), "atlasId": s.Atlas(s.t, "Shelf"), "tags": []any{"sea", "time"},
				"type":   "fact",
				"source": args{"name": "log", "position": 7}}
		},
		names: []string{"atlasId"},
		refusals: []refusal{
			{name: "atlas and workspace disagree", code: loci.CodeAtlasWorkspaceMismatch, args: func(s testScene) args {
				return args{"content": "x", "atlasId": s.Atlas(s.t, "Shelf"), "workspaceId": s.personal()}
			}},
			{name: "title too long", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"content": "x", "title": strings.Repeat("é", 301)}
			}},
			{name: "content too long", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"content": strings.Repeat("x", loci.MaxContent+1)}
			}},
			{name: "unknown type", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"content": "x", "type": "opinion"}
			}},
		},
	},
	service.MemoryGet.Name: {
		args:  func(s testScene) args { _, m := s.newMemory(); return args{"memoryId": m} },
		names: []string{"memoryId"},
	},
	service.MemoryList.Name: {
		args:  func(s testScene) args { a, _ := s.newMemory(); return args{"atlas_id": a, "limit": 1} },
		names: []string{"atlas_id"},
		refusals: []refusal{
			badCursor(nil),
			{name: "atlas and workspace disagree", code: loci.CodeAtlasWorkspaceMismatch, args: func(s testScene) args {
				return args{"atlas_id": s.Atlas(s.t, "Shelf"), "workspace_id": s.personal()}
			}},
		},
	},
	service.MemorySearch.Name: {
		args: func(s testScene) args {
			a, _ := s.newMemory()
			return args{"query": "low tide", "atlas_id": a, "limit": 1}
		},
		names: []string{"atlas_id"},
		refusals: []refusal{
			badCursor(args{"query": "tide"}),
			{name: "empty query", code: loci.CodeInvalidQuery, args: func(testScene) args { return args{"query": ""} }},
			{name: "unknown mode", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"query": "tide", "mode": "magic"}
			}},
		},
	},

	service.AtlasList.Name: {
		args:     func(s testScene) args { return args{"workspace_id": s.Team} },
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.AtlasGet.Name: {
		args:  func(s testScene) args { return args{"atlasId": s.Atlas(s.t, "Shelf")} },
		names: []string{"atlasId"},
	},
	service.AtlasCreate.Name: {
		args: func(s testScene) args {
			return args{"name": "Ships", "workspaceId": s.Team, "keywords": []any{"bark", "brig"},
				"description": "What floats."}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "no room in the plan", code: loci.CodeQuotaExceeded, exhausted: true, args: func(testScene) args {
				return args{"name": "One more"}
			}},
			{name: "blank name", code: loci.CodeInvalidQuery, args: func(testScene) args { return args{"name": "  "} }},
		},
	},
	service.AtlasUpdate.Name: {
		args: func(s testScene) args {
			return args{"atlasId": s.Atlas(s.t, "Shelf"), "name": "Ships", "keywords": []any{}, "description": ""}
		},
		names: []string{"atlasId"},
		refusals: []refusal{
			{name: "changed meanwhile", code: loci.CodeVersionConflict, ifMatch: `"stale"`,
				args: func(s testScene) args { return args{"atlasId": s.Atlas(s.t, "Shelf"), "name": "Ships"} }},
			{name: "nothing to change", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"atlasId": s.Atlas(s.t, "Shelf")}
			}},
		},
	},

	service.WorkspaceList.Name: {args: func(testScene) args { return args{"limit": 1} },
		refusals: []refusal{badCursor(nil)}},
	service.WorkspaceGet.Name: {args: inTeam, names: []string{"workspaceId"}},
	service.WorkspaceCreate.Name: {
		args: func(testScene) args { return args{"name": "Harbour"} },
		refusals: []refusal{{name: "no room in the plan", code: loci.CodeQuotaExceeded, exhausted: true,
			args: func(testScene) args { return args{"name": "One more"} }}},
	},
	service.MemberList.Name: {
		args:  func(s testScene) args { return args{"workspaceId": s.Team, "limit": 2} },
		names: []string{"workspaceId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return mergeArgs(inTeam(s), args{"cursor": foreignCursor})
		}}},
	},

	service.InvitationList.Name: {
		args:  func(s testScene) args { return inTeam(s) },
		names: []string{"workspaceId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return mergeArgs(inTeam(s), args{"cursor": foreignCursor})
		}}},
	},
	service.InvitationCreate.Name: {
		args: func(s testScene) args {
			return args{"workspaceId": s.Team, "emails": []any{uniqueText("guest") + "@example.com", s.Cid.Email},
				"expiresInDays": 3}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "personal workspace", code: loci.CodeStateConflict, args: func(s testScene) args {
				return args{"workspaceId": s.personal(), "emails": []any{"guest@example.com"}}
			}},
			{name: "malformed address", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"emails": []any{"a guest"}})
			}},
			{name: "nobody", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return mergeArgs(inTeam(s), args{"emails": []any{}})
			}},
		},
	},
	service.InvitationPending.Name: {args: func(testScene) args { return args{"limit": 1} },
		refusals: []refusal{badCursor(nil)}},
	service.InvitationRespond.Name: {
		args:  func(s testScene) args { return args{"invitationId": s.invitation(), "accept": true, "confirm": true} },
		names: []string{"invitationId"},
		refusals: []refusal{
			{name: "answered already", code: loci.CodeStateConflict, args: func(s testScene) args {
				id := s.invitation()
				in := loci.RespondInvitation{InvitationID: id, Accept: false, Confirm: true}
				conformance.Must(s.Service.RespondInvitation(s.t.Context(), s.Ann.Actor(), in))(s.t)
				return args{"invitationId": id, "accept": true, "confirm": true}
			}},
			{name: "not confirmed", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"invitationId": s.Team, "accept": true, "confirm": false}
			}},
		},
	},

	service.AccountStatus.Name: {args: noArgs},
	service.AccountMe.Name:     {args: noArgs},

	service.KeyList.Name: {args: func(testScene) args { return args{"limit": 1} },
		refusals: []refusal{badCursor(nil)}},
	service.KeyCreate.Name: {args: func(testScene) args { return args{"name": "laptop"} }},
	service.KeyRevoke.Name: {
		args: func(s testScene) args {
			k := conformance.Must(s.Service.AddKey(s.t.Context(), loci.Email(s.Ann.Email), "old"))(s.t)
			return args{"keyId": k.Key.ID}
		},
		names: []string{"keyId"},
	},

	service.AuthRegister.Name: {
		args: func(testScene) args {
			return args{"email": uniqueText("new") + "@example.com", "password": password, "name": "New"}
		},
		refusals: []refusal{
			{name: "taken address", code: loci.CodeConflict, args: func(testScene) args {
				return args{"email": "ANN@example.com", "password": password}
			}},
			{name: "short password", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"email": "new@example.com", "password": "short"}
			}},
			{name: "malformed address", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"email": "a new one", "password": password}
			}},
		},
	},
	service.AuthSetup.Name: {
		empty: true,
		args: func(s testScene) args {
			return args{"token": s.Service.NewSetupToken(), "email": "first@example.com", "password": password}
		},
		refusals: []refusal{{name: "used link", code: loci.CodeNotFound, args: func(testScene) args {
			return args{"token": "used", "email": "first@example.com", "password": password}
		}}},
	},
	service.AuthLogin.Name: {
		args: func(s testScene) args {
			email := uniqueText("walker") + "@example.com"
			conformance.Must(s.Service.AddUser(s.t.Context(), loci.Email(email), "Walker", password))(s.t)
			return args{"email": email, "password": password}
		},
		refusals: []refusal{
			{name: "wrong password", code: loci.CodeInvalidKey, args: func(s testScene) args {
				return args{"email": s.Ann.Email, "password": password}
			}},
			{name: "unknown account", code: loci.CodeInvalidKey, args: func(testScene) args {
				return args{"email": "nobody@example.com", "password": password}
			}},
		},
	},
	service.AuthLogout.Name: {args: noArgs},
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
