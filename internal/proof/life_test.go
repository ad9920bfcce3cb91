package proof_test

import (
	"maps"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/proof"
	"github.com/loci-memory/loci/internal/service"
)

// written returns a memory of ann's that nobody else needs.
func (s scene) written() string {
	return s.Memory(s.t, s.Atlas(s.t, "Shelf"), "The lighthouse keeper counts ships.")
}

// twins returns one of two memories that resemble each other and no third.
func (s scene) twins() string {
	text := ropes()
	s.Memory(s.t, s.Atlas(s.t, "Shelf"), text+"hemp")
	return s.Memory(s.t, s.Atlas(s.t, "Shelf"), text+"sisal")
}

// ropes is a text that resembles no other.
func ropes() string {
	var text strings.Builder
	for range 30 {
		text.WriteString(fresh("rope") + " ")
	}
	return text.String()
}

func (s scene) archived() string {
	id := s.written()
	proof.Must(s.Service.ArchiveMemory(s.t.Context(), s.Ann.Actor(), loci.ArchiveMemory{MemoryID: id}))(s.t)
	return id
}

// of is arguments that name a memory made for them, and more.
func of(memory func(scene) string, more args) func(scene) args {
	return func(s scene) args { return with(more, args{"memoryId": memory(s)}) }
}

// stale is a change that was based on another state.
func stale(more args) refusal {
	return refusal{name: "changed meanwhile", code: loci.VersionConflict, ifMatch: `"stale"`, args: of(scene.written, more)}
}

func refused(more args) refusal {
	return refusal{name: "archived", code: loci.StateConflict, args: of(scene.archived, more)}
}

// credential is put together here so that no source holds one.
func credential() string { return "ghp_" + strings.Repeat("aB3dE5gH7", 4) }

var (
	named = []string{"memoryId"}
	leak  = refusal{name: "a credential", code: loci.SecretDetected, args: func(s scene) args {
		return args{"memoryId": s.written(), "content": "key: " + credential()}
	}}
)

func init() {
	maps.Copy(fixtures, map[string]fixture{
		service.MemoryContext.Name: {
			args:  func(s scene) args { a, _ := s.shelf(); return args{"atlas_id": a, "max_tokens": 500} },
			names: []string{"atlas_id"},
			also: []refusal{{name: "no budget", code: loci.InvalidQuery, args: func(scene) args { return args{"max_tokens": 0} }},
				{name: "atlas and workspace disagree", code: loci.AtlasWorkspaceMismatch, args: func(s scene) args {
					return args{"atlas_id": s.Atlas(s.t, "Shelf"), "workspace_id": s.personal()}
				}}},
		},
		service.MemoryUpdate.Name: {
			args:  of(scene.written, args{"content": "Twelve ships.", "title": "Ships", "type": "fact", "tags": []any{"sea"}}),
			names: named,
			also: []refusal{stale(args{"title": "x"}), refused(args{"title": "x"}), leak,
				{name: "nothing to change", code: loci.InvalidQuery, args: of(scene.written, nil)}},
		},
		service.MemoryAppend.Name: {
			args:  of(scene.written, args{"content": "And two boats."}),
			names: named,
			also: []refusal{stale(args{"content": "x"}), refused(args{"content": "x"}), leak,
				{name: "too much", code: loci.InvalidQuery, args: of(scene.written, args{"content": strings.Repeat("x", loci.MaxContent)})}},
		},
		service.MemoryVerify.Name: {
			args:  of(scene.archived, args{"evidence": "counted twice", "confidence": .9, "validUntil": "2050-01-02T03:04:05Z"}),
			names: named,
			also: []refusal{stale(args{"confidence": 1}), {name: "nothing seen", code: loci.InvalidQuery, args: of(scene.written, nil)},
				{name: "too sure", code: loci.InvalidQuery, args: of(scene.written, args{"confidence": 1.1})},
				{name: "a credential", code: loci.SecretDetected, args: of(scene.written, args{"evidence": credential()})}},
		},
		service.MemorySupersede.Name: {
			args:  func(s scene) args { return args{"memoryId": s.written(), "replacementMemoryId": s.written()} },
			names: []string{"memoryId", "replacementMemoryId"},
			also: []refusal{
				{name: "changed meanwhile", code: loci.VersionConflict, ifMatch: `"stale"`, args: func(s scene) args {
					return args{"memoryId": s.written(), "replacementMemoryId": s.written()}
				}},
				{name: "by itself", code: loci.InvalidQuery, args: func(s scene) args { id := s.written(); return args{"memoryId": id, "replacementMemoryId": id} }},
				{name: "by one that is archived", code: loci.StateConflict, args: func(s scene) args {
					return args{"memoryId": s.written(), "replacementMemoryId": s.archived()}
				}},
			},
		},
		service.MemoryArchive.Name:  {args: of(scene.written, nil), names: named, also: []refusal{stale(nil), refused(nil)}},
		service.MemoryRestore.Name:  {args: of(scene.archived, nil), names: named, also: []refusal{{name: "active", code: loci.StateConflict, args: of(scene.written, nil)}}},
		service.MemoryDelete.Name:   {args: of(scene.written, nil), names: named, also: []refusal{stale(nil)}},
		service.MemoryVersions.Name: {args: of(scene.archived, args{"limit": 1}), names: named, also: []refusal{{name: "foreign cursor", code: loci.InvalidQuery, args: of(scene.written, args{"cursor": foreign})}}},
		service.MemoryRevert.Name: {
			args:  of(scene.written, args{"version": 1}),
			names: named,
			also:  []refusal{stale(args{"version": 1}), refused(args{"version": 1}), {name: "unknown version", code: loci.NotFound, args: of(scene.written, args{"version": 9})}},
		},
		service.MemorySimilar.Name: {args: of(scene.twins, args{"limit": 2}), names: named},
	})
}
