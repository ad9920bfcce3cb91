package conformance_test

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// memoryFixtures are the fixtures of memories.
var memoryFixtures = map[string]fixture{
	service.MemoryCreate.Name: {
		needs: member,
		args: func(s testScene) args {
			return args{"content": longText(), "atlasId": s.Atlas(s.t, "Shelf"), "tags": []any{"sea", "time"},
				"type":   "fact",
				"source": args{"name": "log", "position": 7}}
		},
		names: []string{"atlasId"},
		refusals: []refusal{
			mismatchedAtlas("atlasId", "workspaceId", args{"content": "x"}),
			{name: "title too long", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"content": "x", "title": strings.Repeat("é", 301)}
			}},
			{name: "content too long", code: loci.CodeInvalidQuery, args: func(testScene) args {
				return args{"content": strings.Repeat("x", loci.MaxContent+1)}
			}},
			{name: "unknown type", code: loci.CodeInvalidQuery, args: fixed(args{"content": "x", "type": "opinion"})},
		},
	},
	service.MemoryGet.Name: {
		needs: member,
		args:  func(s testScene) args { _, m := s.newMemory(); return args{"memoryId": m} },
		names: []string{"memoryId"},
	},
	service.MemoryList.Name: {
		needs:    member,
		args:     func(s testScene) args { a, _ := s.newMemory(); return args{"atlas_id": a, "limit": 1} },
		names:    []string{"atlas_id"},
		refusals: []refusal{badCursor(nil), mismatchedAtlas("atlas_id", "workspace_id", args{})},
	},
	service.MemorySearch.Name: {
		needs: member,
		args: func(s testScene) args {
			a, _ := s.newMemory()
			return args{"query": "low tide", "atlas_id": a, "limit": 1}
		},
		names: []string{"atlas_id"},
		refusals: []refusal{
			badCursor(args{"query": "tide"}),
			{name: "empty query", code: loci.CodeInvalidQuery, args: fixed(args{"query": ""})},
			{name: "unknown mode", code: loci.CodeInvalidQuery, args: fixed(args{"query": "tide", "mode": "magic"})},
		},
	},
	service.MemoryContext.Name: {
		needs: member,
		args:  func(s testScene) args { a, _ := s.newMemory(); return args{"atlas_id": a, "max_tokens": 500} },
		names: []string{"atlas_id"},
		refusals: []refusal{{name: "no budget", code: loci.CodeInvalidQuery, args: fixed(args{"max_tokens": 0})},
			mismatchedAtlas("atlas_id", "workspace_id", args{})},
	},
	service.MemoryUpdate.Name: {
		needs: creatorOrManager,
		args: withMemory(testScene.newVersions, args{"content": "Twelve ships.", "title": "Ships", "type": "fact",
			"tags": []any{"sea"}}),
		names: named,
		refusals: []refusal{staleVersion(args{"title": "x"}), stateConflict(args{"title": "x"}), secretRefusal,
			{name: "nothing to change", code: loci.CodeInvalidQuery, args: withMemory(testScene.newVersions, nil)}},
	},
	service.MemoryAppend.Name: {
		needs: creatorOrManager,
		args:  withMemory(testScene.newVersions, args{"content": "And two boats."}),
		names: named,
		refusals: []refusal{staleVersion(args{"content": "x"}), stateConflict(args{"content": "x"}), secretRefusal,
			{name: "too much", code: loci.CodeInvalidQuery,
				args: withMemory(testScene.newVersions, args{"content": strings.Repeat("x", loci.MaxContent)})}},
	},
	service.MemoryVerify.Name: {
		needs:   creatorOrManager,
		accepts: archivedContainers,
		args: withMemory(testScene.archived, args{"evidence": "counted twice", "confidence": .9,
			"validUntil": "2050-01-02T03:04:05Z"}),
		names: named,
		refusals: []refusal{staleVersion(args{"confidence": 1}),
			{name: "nothing seen", code: loci.CodeInvalidQuery, args: withMemory(testScene.newVersions, nil)},
			{name: "too sure", code: loci.CodeInvalidQuery,
				args: withMemory(testScene.newVersions, args{"confidence": 1.1})},
			{name: "a credential", code: loci.CodeSecretDetected,
				args: withMemory(testScene.newVersions, args{"evidence": credential()})}},
	},
	service.MemorySupersede.Name: {
		needs: creatorOrManager,
		args: func(s testScene) args {
			return args{"memoryId": s.newVersions(), "replacementMemoryId": s.newVersions()}
		},
		names: []string{"memoryId", "replacementMemoryId"},
		refusals: []refusal{
			{name: "changed meanwhile", code: loci.CodeVersionConflict, ifMatch: `"stale"`,
				args: func(s testScene) args {
					return args{"memoryId": s.newVersions(), "replacementMemoryId": s.newVersions()}
				}},
			{name: "by itself", code: loci.CodeInvalidQuery, args: func(s testScene) args {
				id := s.newVersions()
				return args{"memoryId": id, "replacementMemoryId": id}
			}},
			{name: "by one that is archived", code: loci.CodeStateConflict, args: func(s testScene) args {
				return args{"memoryId": s.newVersions(), "replacementMemoryId": s.archived()}
			}},
		},
	},
	service.MemoryArchive.Name: {needs: creatorOrManager, args: withMemory(testScene.newVersions, nil), names: named,
		refusals: []refusal{staleVersion(nil), stateConflict(nil)}},
	service.MemoryRestore.Name: {needs: creatorOrManager, args: withMemory(testScene.archived, nil), names: named,
		refusals: []refusal{{name: "active", code: loci.CodeStateConflict,
			args: withMemory(testScene.newVersions, nil)}}},
	service.MemoryDelete.Name: {needs: creatorOrManager, accepts: archivedContainers, names: named,
		args:     withMemory(testScene.newVersions, nil),
		refusals: []refusal{staleVersion(nil)}},
	service.MemoryVersions.Name: {needs: member, args: withMemory(testScene.archived, args{"limit": 1}), names: named,
		refusals: []refusal{{name: "foreign cursor", code: loci.CodeInvalidQuery,
			args: withMemory(testScene.newVersions, args{"cursor": foreignCursor})}}},
	service.MemoryRevert.Name: {
		needs: creatorOrManager,
		args:  withMemory(testScene.changed, args{"version": 1}),
		names: named,
		refusals: []refusal{staleVersion(args{"version": 1}), stateConflict(args{"version": 1}),
			{name: "unknown version", code: loci.CodeNotFound,
				args: withMemory(testScene.newVersions, args{"version": 9})}},
	},
	service.MemorySimilar.Name: {needs: member, args: withMemory(testScene.newDuplicates, args{"limit": 2}),
		names: named},
}

// newMemory returns an atlas of the team workspace with two memories. A world has only one, because other memories
// change scores.
func (s testScene) newMemory() (atlas, memory loci.ID) {
	list := testenv.Must(s.Service.ListMemories(s.t.Context(), s.Ann.Actor(),
		loci.ListMemories{MemoryFilter: loci.MemoryFilter{WorkspaceID: s.Team, Tags: loci.Tags{"shelf"}}}))(s.t)
	if len(list.Memories) == 0 {
		atlas = s.Atlas(s.t, "Shelf")
		s.Memory(s.t, atlas, "# Tide\nThe tide turns at noon.", "shelf")
		return atlas, s.Memory(s.t, atlas, "The harbour closes when the tide is low.", "shelf")
	}
	return list.Memories[0].AtlasID, list.Memories[0].ID
}

// newVersions returns a memory of ann that no other case uses.
func (s testScene) newVersions() loci.ID {
	return s.Memory(s.t, s.Atlas(s.t, "Shelf"), "The lighthouse keeper counts ships.")
}

// changed returns a memory whose version 1 differs from the current one.
func (s testScene) changed() loci.ID {
	id, text := s.newVersions(), loci.Content("The lighthouse keeper counts boats.")
	in := loci.UpdateMemory{MemoryID: id, Content: &text}
	testenv.Must(s.Service.UpdateMemory(s.t.Context(), s.Ann.Actor(), in))(s.t)
	return id
}

// newDuplicates returns one of two memories that are similar to each other only.
func (s testScene) newDuplicates() loci.ID {
	text := longText()
	s.Memory(s.t, s.Atlas(s.t, "Shelf"), text+"hemp")
	return s.Memory(s.t, s.Atlas(s.t, "Shelf"), text+"sisal")
}

// longText returns a text that is similar to no other.
func longText() string {
	var text strings.Builder
	for range 30 {
		text.WriteString(uniqueText("rope") + " ")
	}
	return text.String()
}

func (s testScene) archived() loci.ID {
	id := s.newVersions()
	testenv.Must(s.Service.ArchiveMemory(s.t.Context(), s.Ann.Actor(), loci.ArchiveMemory{MemoryID: id}))(s.t)
	return id
}

// withMemory returns arguments that name a new memory, and more.
func withMemory(memory func(testScene) loci.ID, more args) func(testScene) args {
	return func(s testScene) args { return mergeArgs(more, args{"memoryId": memory(s)}) }
}

// staleVersion returns a change with an outdated If-Match.
func staleVersion(more args) refusal {
	return refusal{name: "changed meanwhile", code: loci.CodeVersionConflict, ifMatch: `"stale"`,
		args: withMemory(testScene.newVersions, more)}
}

func stateConflict(more args) refusal {
	return refusal{name: "archived", code: loci.CodeStateConflict, args: withMemory(testScene.archived, more)}
}

// credential joins a credential here, so that no source contains one.
func credential() string { return "ghp_" + strings.Repeat("aB3dE5gH7", 4) }

var (
	named         = []string{"memoryId"}
	secretRefusal = refusal{name: "a credential", code: loci.CodeSecretDetected, args: func(s testScene) args {
		return args{"memoryId": s.newVersions(), "content": "key: " + credential()}
	}}
)
