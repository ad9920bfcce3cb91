package conformance_test

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// agentFixtures are the fixtures of agents and their messages.
var agentFixtures = map[string]fixture{
	service.AgentList.Name: {
		needs:  member,
		server: true,
		args:   func(s testScene) args { s.agent(s.Ann); return args{"workspace_id": s.Team, "limit": 1} },
		names:  []string{"workspace_id"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return args{"workspace_id": s.Team, "cursor": foreignCursor}
		}}},
	},
	service.AgentSend.Name: {
		needs:   member,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"workspaceId": s.Team, "toAgentId": s.agent(s.Bob).AgentID, "subject": "Rope",
				"content": longText(), "replyTo": s.message()}
		},
		names: []string{"workspaceId", "toAgentId", "replyTo"},
		refusals: []refusal{
			{name: "a credential", code: loci.CodeSecretDetected,
				args: sameArgs(args{"broadcast": true, "content": "key: " + credential()})},
			{name: "no recipient", code: loci.CodeInvalidQuery, args: sameArgs(args{"content": "x"})},
			{name: "two kinds of recipients", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"workspaceId": s.Team, "toAgentId": s.agent(s.Bob).AgentID, "broadcast": true,
					"content": "x"}
			}},
			{name: "a revoked recipient", code: loci.CodeStateConflict, args: func(s testScene) args {
				return args{"workspaceId": s.Team, "toAgentId": s.revokedAgent(), "content": "x"}
			}},
			{name: "an archived workspace", code: loci.CodeStateConflict, args: func(s testScene) args {
				team := s.SharedTeam(s.t, s.Ann)
				testenv.Must(s.Service.ArchiveWorkspace(s.t.Context(), s.Ann.Actor(),
					loci.ArchiveWorkspace{WorkspaceID: team}))(s.t)
				return args{"workspaceId": team, "broadcast": true, "content": "x"}
			}},
			{name: "a reply in another workspace", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"workspaceId": s.SharedTeam(s.t, s.Ann), "broadcast": true, "content": "x",
					"replyTo": s.message()}
			}},
		},
	},
	service.AgentInbox.Name: {
		needs: member,
		args: func(s testScene) args {
			s.message()
			s.message()
			return args{"workspace_id": s.Team, "status": "unread", "limit": 1}
		},
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.AgentSent.Name: {
		needs: member,
		args: func(s testScene) args {
			s.reply()
			s.reply()
			return args{"workspace_id": s.Team, "limit": 1}
		},
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.AgentMessages.Name: {
		needs:  ownerOfRecord,
		server: true,
		args: func(s testScene) args {
			s.message()
			s.reply()
			return args{"agentId": s.agent(s.Ann).AgentID, "limit": 1}
		},
		names: []string{"agentId"},
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery, args: func(s testScene) args {
			return args{"agentId": s.agent(s.Ann).AgentID, "cursor": foreignCursor}
		}}},
	},
	service.AgentAcknowledge.Name: {
		needs: ownerOfRecord, args: receivedMessage, names: []string{"messageId"},
		refusals: []refusal{{name: "closed", code: loci.CodeStateConflict, args: func(s testScene) args {
			in := receivedMessage(s)
			testenv.Must(s.Service.CloseMessage(s.t.Context(), s.agent(s.Ann),
				loci.GetMessage{MessageID: in["messageId"].(loci.ID)}))(s.t)
			return in
		}}},
	},
	service.AgentClose.Name: {needs: ownerOfRecord, args: receivedMessage, names: []string{"messageId"}},
	service.AgentEvents.Name: {
		needs: member,
		args: func(s testScene) args {
			team := s.SharedTeam(s.t, s.Ann) // the first event has all unread messages
			s.messageIn(team)
			return args{"workspace_id": team}
		},
		names: []string{"workspace_id"},
	},
}

// sameArgs returns arguments that are the same in each scene.
func sameArgs(in args) func(testScene) args { return func(testScene) args { return in } }

func receivedMessage(s testScene) args { return args{"messageId": s.message()} }

// ownerOf returns the caller of an operation on records of ann: herself, or her agent where only agents may call.
func ownerOf(o *op.Op) conformance.Caller {
	if o.Access == op.Agent {
		return conformance.CallerAgent
	}
	return conformance.CallerOwner
}

// agent returns the agent of the key of a person as the actor of a call.
func (s testScene) agent(p *conformance.Person) *identity.Actor {
	s.t.Helper()
	c := &op.Call{Transport: "test", Credential: p.Key, ActorHeader: op.ActorAgent, Address: "192.0.2.1"}
	return testenv.Must(s.Host.Admit(s.t.Context(), service.AccountStatus.Op, c))(s.t)
}

// message returns a new message from bob's agent to that of ann in the team workspace.
func (s testScene) message() loci.ID { return s.messageIn(s.Team) }

func (s testScene) messageIn(team loci.ID) loci.ID { return s.messageFrom(s.Bob, s.Ann, team) }

// reply returns a new message from ann's agent to that of bob in the team workspace.
func (s testScene) reply() loci.ID { return s.messageFrom(s.Ann, s.Bob, s.Team) }

func (s testScene) messageFrom(from, to *conformance.Person, team loci.ID) loci.ID {
	s.t.Helper()
	return testenv.Must(s.Service.SendMessage(s.t.Context(), s.agent(from), loci.SendMessage{WorkspaceID: team,
		ToAgentID: s.agent(to).AgentID, Subject: "Harbour",
		Content: loci.MessageText(strings.TrimSpace(longText()))}))(s.t).Message.ID
}

// revokedAgent returns an agent of cid whose key is revoked.
func (s testScene) revokedAgent() loci.ID {
	k := testenv.Must(s.Service.AddKey(s.t.Context(), loci.Email(s.Cid.Email), "lost"))(s.t)
	id := s.agent(&conformance.Person{User: s.Cid.User, Key: k.APIKey, KeyID: k.Key.ID}).AgentID
	testenv.Must(s.Service.RevokeKey(s.t.Context(), s.Cid.Actor(), loci.RevokeKey{KeyID: k.Key.ID}))(s.t)
	return id
}
