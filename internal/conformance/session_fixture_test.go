package conformance_test

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// sessionFixtures are the fixtures of sessions, candidates and units.
var sessionFixtures = map[string]fixture{
	service.SessionStart.Name: {
		needs: member,
		args: func(s testScene) args {
			return args{"task": "Move the lighthouse", "kind": "automatic", "adapter": "claude",
				"atlasId": s.Atlas(s.t, "Shelf"), "externalId": uniqueText("ext"), "sourceName": "bridge",
				"maxTokens": 500}
		},
		names: []string{"atlasId"},
		refusals: []refusal{
			{name: "automatic without an adapter", code: loci.CodeInvalidQuery,
				args: fixed(args{"task": "x", "kind": "automatic"})},
			{name: "a credential as an id", code: loci.CodeSecretDetected,
				args: fixed(args{"task": "x", "externalId": credential()})},
			mismatchedAtlas("atlasId", "workspaceId", args{"task": "x"}),
		},
	},
	service.SessionList.Name: {
		needs:    member,
		args:     func(s testScene) args { s.session(); s.session(); return args{"workspace_id": s.Team, "limit": 1} },
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.SessionCandidates.Name: {
		needs: member,
		args: func(s testScene) args {
			s.candidate()
			s.candidate()
			return args{"workspace_id": s.Team, "limit": 1}
		},
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.SessionBulk.Name: {
		needs: accountAccess,
		args: func(s testScene) args {
			return args{"action": "delete", "sessionIds": []any{s.session(), s.automatic()}}
		},
		refusals: []refusal{{name: "no session", code: loci.CodeInvalidQuery,
			args: fixed(args{"action": "archive", "sessionIds": []any{}})}},
	},
	service.SessionGet.Name: {
		needs: sessionManager,
		args: func(s testScene) args {
			session, _ := s.candidate()
			return args{"sessionId": session, "max_tokens": 500}
		},
		names: inSession,
	},
	service.SessionCapture.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			return args{"sessionId": s.session(), "content": longText(), "title": "Rope", "type": "fact",
				"tags": []any{"rope"}, "confidence": .5, "evidence": "seen", "sourceEventId": uniqueText("ev")}
		},
		names: inSession,
		refusals: []refusal{endedSession(args{"content": "x"}),
			{name: "a credential", code: loci.CodeSecretDetected,
				args: withSession(args{"content": "key: " + credential()})}},
	},
	service.SessionCheckpoint.Name: {needs: sessionOwner, args: withSession(args{"summary": "Half of it is done."}),
		names: inSession, refusals: []refusal{endedSession(args{"summary": "x"})}},
	service.SessionFinalize.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			session, _ := s.candidate()
			return args{"sessionId": session, "summary": "It is done."}
		},
		names:    inSession,
		refusals: []refusal{endedSession(nil)},
	},
	service.SessionModerate.Name: {
		needs: sessionManager,
		args: func(s testScene) args {
			session, candidate := s.candidate()
			return args{"sessionId": session, "candidateId": candidate, "action": "compile"}
		},
		names: []string{"sessionId", "candidateId"},
		refusals: []refusal{{name: "pending already", code: loci.CodeStateConflict, args: func(s testScene) args {
			session, candidate := s.candidate()
			return args{"sessionId": session, "candidateId": candidate, "action": "revert"}
		}}},
	},
	service.SessionEdit.Name: {
		needs: sessionManager,
		args: func(s testScene) args {
			session, candidate := s.candidate()
			return args{"sessionId": session, "candidateId": candidate, "content": longText(), "title": "Rope",
				"type": "fact", "tags": []any{"rope"}}
		},
		names: []string{"sessionId", "candidateId"},
		refusals: []refusal{
			{name: "nothing to change", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				session, candidate := s.candidate()
				return args{"sessionId": session, "candidateId": candidate}
			}},
			{name: "a credential", code: loci.CodeSecretDetected, args: func(s testScene) args {
				session, candidate := s.candidate()
				return args{"sessionId": session, "candidateId": candidate, "content": "key: " + credential()}
			}},
		},
	},
	service.SessionReview.Name: {
		needs: accountAccess,
		args: func(s testScene) args {
			_, one := s.candidate()
			_, other := s.candidate()
			return args{"action": "compile", "candidateIds": []any{other, one}}
		},
		refusals: []refusal{{name: "no candidate", code: loci.CodeInvalidQuery,
			args: fixed(args{"action": "compile", "candidateIds": []any{}})}},
	},
	service.SessionComplete.Name: {
		needs: sessionOwner, args: withAutomatic(nil), names: inSession,
		refusals: []refusal{manualSession(nil),
			{name: "a unit is open", code: loci.CodeStateConflict, args: func(s testScene) args {
				session, _ := s.unit()
				return args{"sessionId": session}
			}}},
	},
	service.SessionReopen.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			id := s.automatic()
			testenv.Must(s.Service.CompleteSession(s.t.Context(), s.Ann.Actor(),
				loci.CompleteSession{SessionID: id}))(s.t)
			return args{"sessionId": id}
		},
		names:    inSession,
		refusals: []refusal{manualSession(nil)},
	},
	service.SessionRevert.Name: {
		needs: sessionManager,
		args: func(s testScene) args {
			session, unit := s.unit()
			testenv.Must(s.Service.FinalizeUnit(s.t.Context(), s.Ann.Actor(), loci.FinalizeUnit{SessionID: session,
				UnitID: unit, Content: loci.Content(longText())}))(s.t)
			return args{"sessionId": session}
		},
		names:    inSession,
		refusals: []refusal{manualSession(nil)},
	},
	service.SessionArchive.Name: {
		needs: sessionManager, args: withSession(nil), names: inSession,
		refusals: []refusal{{name: "not archived", code: loci.CodeStateConflict,
			args: withSession(args{"archived": false})}},
	},
	service.UnitOpen.Name: {
		needs: sessionOwner, args: withAutomatic(args{"key": "rope", "title": "Rope", "followUp": true}),
		names: inSession, refusals: []refusal{manualSession(args{"key": "rope"})},
	},
	service.UnitFinalize.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			session, unit := s.unit()
			return args{"sessionId": session, "unitId": unit, "content": longText(), "title": "Rope", "type": "task",
				"tags": []any{"rope"}}
		},
		names: []string{"sessionId", "unitId"},
	},
	service.SessionEvent.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			return args{"sessionId": s.automatic(), "adapter": "claude", "eventId": uniqueText("ev"), "type": "prompt",
				"unitKey": "turn", "occurredAt": "2026-01-02T03:04:05Z", "role": "user",
				"content":  "We decided to use " + uniqueText("hemp") + " for the ropes of the harbour from now on.",
				"metadata": args{"cwd": "/home/ann"}}
		},
		names: inSession,
		refusals: []refusal{manualSession(args{"adapter": "claude", "eventId": "e", "type": "note"}),
			{name: "another adapter", code: loci.CodeInvalidQuery,
				args: withAutomatic(args{"adapter": "codex", "eventId": "e", "type": "note"})}},
	},
	service.SessionCompile.Name: {
		needs: sessionOwner,
		args: func(s testScene) args {
			return args{"sessionId": s.automatic(), "unitKey": "turn", "compiler": "bridge/1", "outcome": "created",
				"memoryId": s.newVersions(), "inputEventIds": []any{"ev"}}
		},
		names: []string{"sessionId", "memoryId"},
		refusals: []refusal{{name: "no memory", code: loci.CodeInvalidQuery,
			args: withAutomatic(args{"unitKey": "turn", "compiler": "bridge/1", "outcome": "created"})}},
	},
	service.AutoGet.Name: {needs: member, args: func(s testScene) args { return args{"workspace_id": s.Team} },
		names: []string{"workspace_id"}},
	service.AutoSet.Name: {
		needs:   member,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"workspace_id": s.Team, "enabled": true, "paused": false, "mode": "candidates",
				"atlasId": s.Atlas(s.t, "Shelf"), "adapters": args{"pi": false}, "minLength": 30,
				"keepTurns": true, "excludePaths": []any{"secret/**"}}
		},
		names: []string{"workspace_id", "atlasId"},
		refusals: []refusal{
			{name: "atlas and workspace disagree", code: loci.CodeAtlasWorkspaceMismatch, args: func(s testScene) args {
				return args{"workspace_id": s.Team, "atlasId": s.inbox()}
			}},
			{name: "invalid glob", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				return args{"workspace_id": s.Team, "excludePaths": []any{"src/{a"}}
			}},
		},
	},
	service.AutoAudit.Name: {
		needs: sessionOwner,
		args: withAutomatic(args{"eventId": "ev", "adapter": "claude", "total": 2,
			"rules": []any{args{"rule": "github-pat", "count": 2}}, "occurredAt": "2026-01-02T03:04:05Z"}),
		names: inSession,
		refusals: []refusal{{name: "another sum", code: loci.CodeInvalidQuery,
			args: withAutomatic(args{"eventId": "ev", "adapter": "claude", "total": 3, "rules": []any{}})}},
	},
}

var inSession = []string{"sessionId"}

// start starts a session of ann in the team workspace.
func (s testScene) start(in loci.StartSession) loci.ID {
	in.Task, in.AtlasID = "Count the ships", s.Atlas(s.t, "Shelf")
	return testenv.Must(s.Service.StartSession(s.t.Context(), s.Ann.Actor(), in))(s.t).Session.ID
}

// session returns a new manual session of ann.
func (s testScene) session() loci.ID { return s.start(loci.StartSession{}) }

// automatic returns a new automatic session of ann, whose policy accepts its events.
func (s testScene) automatic() loci.ID {
	testenv.Must(s.Service.SetPolicy(s.t.Context(), s.Ann.Actor(),
		loci.SetPolicy{WorkspaceID: s.Team, Enabled: true}))(s.t)
	return s.start(loci.StartSession{Kind: loci.SessionAutomatic, Adapter: "claude",
		ExternalID: loci.ExternalID(uniqueText("ext"))})
}

// candidate returns a pending candidate of a new session.
func (s testScene) candidate() (session, candidate loci.ID) {
	session = s.session()
	return session, testenv.Must(s.Service.CaptureCandidate(s.t.Context(), s.Ann.Actor(),
		loci.CaptureCandidate{SessionID: session,
			Content: loci.CandidateContent(strings.TrimSpace(longText()))}))(s.t).Candidate.ID
}

// unit returns an open unit of a new session.
func (s testScene) unit() (session, unit loci.ID) {
	session = s.automatic()
	return session, testenv.Must(s.Service.OpenUnit(s.t.Context(), s.Ann.Actor(),
		loci.OpenUnit{SessionID: session, Key: "rope"}))(s.t).Unit.ID
}

// withSession returns arguments that name a new manual session, and more.
func withSession(more args) func(testScene) args {
	return func(s testScene) args { return mergeArgs(more, args{"sessionId": s.session()}) }
}

// withAutomatic returns arguments that name a new automatic session, and more.
func withAutomatic(more args) func(testScene) args {
	return func(s testScene) args { return mergeArgs(more, args{"sessionId": s.automatic()}) }
}

// endedSession returns a call for a session that was finalized.
func endedSession(more args) refusal {
	return refusal{name: "ended", code: loci.CodeStateConflict, args: func(s testScene) args {
		id := s.session()
		testenv.Must(s.Service.FinalizeSession(s.t.Context(), s.Ann.Actor(),
			loci.FinalizeSession{SessionID: id}))(s.t)
		return mergeArgs(more, args{"sessionId": id})
	}}
}

// manualSession returns a call for a session that is not automatic.
func manualSession(more args) refusal {
	return refusal{name: "manual", code: loci.CodeStateConflict, args: withSession(more)}
}
