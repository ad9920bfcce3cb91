package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
)

// atlasFixtures are the fixtures of atlases.
var atlasFixtures = map[string]fixture{
	service.AtlasList.Name: {
		needs:    member,
		args:     func(s testScene) args { return args{"workspace_id": s.Team} },
		names:    []string{"workspace_id"},
		refusals: []refusal{badCursor(nil)},
	},
	service.AtlasGet.Name: {
		needs: member,
		args:  func(s testScene) args { return args{"atlasId": s.Atlas(s.t, "Shelf")} },
		names: []string{"atlasId"},
	},
	service.AtlasCreate.Name: {
		needs:   admin,
		accepts: archivedAtlases,
		args: func(s testScene) args {
			return args{"name": "Ships", "workspaceId": s.Team, "keywords": []any{"bark", "brig"},
				"description": "What floats."}
		},
		names: []string{"workspaceId"},
		refusals: []refusal{
			{name: "no room in the plan", code: loci.CodeQuotaExceeded, exhausted: true,
				args: fixed(args{"name": "One more"})},
			{name: "blank name", code: loci.CodeInvalidQuery, args: fixed(args{"name": "  "})},
		},
	},
	service.AtlasArchive.Name: {
		needs: admin,
		args:  func(s testScene) args { return args{"atlasId": s.Atlas(s.t, "Shelf")} },
		names: []string{"atlasId"},
		refusals: []refusal{{name: "active already", code: loci.CodeStateConflict, args: func(s testScene) args {
			return args{"atlasId": s.Atlas(s.t, "Shelf"), "archived": false}
		}}},
	},
	service.AtlasDelete.Name: {
		needs:   admin,
		accepts: archivedContainers,
		args: func(s testScene) args {
			atlas := s.Atlas(s.t, "Wreck")
			s.Memory(s.t, atlas, "the keel lies on the ground")
			return args{"atlasId": atlas, "dry_run": false}
		},
		names: []string{"atlasId"},
		refusals: []refusal{
			{name: "personal Inbox", code: loci.CodeStateConflict, args: func(s testScene) args {
				return args{"atlasId": s.inbox(), "dry_run": true}
			}},
		},
	},
	service.AtlasUpdate.Name: {
		needs: admin,
		args: func(s testScene) args {
			return args{"atlasId": s.Atlas(s.t, "Shelf"), "name": "Ships", "keywords": []any{},
				"description": "What sails."} // a tool takes "" as absent
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
}
