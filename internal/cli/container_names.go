package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// lookUpContainerNames returns the names of the atlases or workspaces of the records in a list, by their ids. An atlas
// has its workspace's name too where the caller has several. Workspaces are named where the records have no atlas.
// Unreadable containers have no name, and the answer is shown all the same.
func (p *program) lookUpContainerNames(ctx context.Context, caller op.Caller, o *op.Op, raw []byte) map[string]string {
	names := map[string]string{}
	atlases, workspaces := p.table.Op("atlas.list"), p.table.Op("workspace.list")
	inAtlases := bytes.Contains(raw, []byte(`"atlasId":`))
	if atlases == nil || workspaces == nil || !o.Paged || !inAtlases && !spansWorkspaces(raw) {
		return names
	}
	for w, err := range listRecords(ctx, caller, workspaces, unfiltered(workspaces)) {
		if err != nil {
			return map[string]string{}
		}
		names[w.ID] = w.Name
	}
	if !inAtlases {
		return names
	}
	scanned, several := 0, len(names) > 1
	for a, err := range listRecords(ctx, caller, atlases, unfiltered(atlases)) {
		if scanned++; err != nil || scanned > maxScanned {
			break
		}
		names[a.ID] = a.Name
		if several {
			names[a.ID] = names[a.WorkspaceID] + "/" + a.Name
		}
	}
	return names
}

// spansWorkspaces reports whether the records of a list belong to several workspaces.
func spansWorkspaces(raw []byte) bool {
	page, err := parsePage(raw)
	if err != nil {
		return false
	}
	for _, r := range page.records {
		if r.WorkspaceID != page.records[0].WorkspaceID {
			return true
		}
	}
	return false
}

// maxTitles is the number of similar memories whose titles are read.
const maxTitles = 20

// lookUpSimilarTitles returns the titles of the similar memories of an answer, by their ids.
func (p *program) lookUpSimilarTitles(ctx context.Context, caller op.Caller, raw []byte) map[string]string {
	var answer struct {
		loci.Similar
		Memory loci.Similar `json:"memory"`
	}
	titles := map[string]string{}
	if p.table.Op("memory.get") == nil || json.Unmarshal(raw, &answer) != nil {
		return titles
	}
	list := append(answer.Similar.Similar, answer.Memory.Similar...)
	for _, s := range list[:min(maxTitles, len(list))] {
		if r, err := p.findRecord(ctx, caller, "memory", "memoryId", s.ID); err == nil {
			titles[s.ID] = r.Title
		}
	}
	return titles
}

// formatSimilar returns the similar memories of an answer in one line.
func (p *program) formatSimilar(raw json.RawMessage) string {
	var list []loci.Similarity
	_ = json.Unmarshal(raw, &list) // an answer of another shape has none
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = fmt.Sprintf("%s (%v)", s.ID, s.Score)
		if title := p.names[s.ID]; title != "" {
			texts[i] = fmt.Sprintf("%q (%s, %v)", title, s.ID, s.Score)
		}
	}
	return strings.Join(texts, ", ")
}

// addNames adds to each record its title if that is known, and the name of its atlas. A record without an atlas gets
// the name of its workspace, if the records belong to several.
func addNames(records []map[string]json.RawMessage, names map[string]string) {
	text := func(r map[string]json.RawMessage, field string) (s string) {
		_ = json.Unmarshal(r[field], &s) // an absent field is empty
		return s
	}
	workspaces := map[string]bool{}
	for _, r := range records {
		workspaces[text(r, "workspaceId")] = true
	}
	for _, r := range records {
		atlas, workspace := names[text(r, "atlasId")], text(r, "workspaceId")
		switch {
		case atlas != "":
			r["atlas"] = jsonString(atlas)
		case len(workspaces) > 1 && workspace != "" && r["atlasId"] == nil && r["workspaceName"] == nil:
			name := names[workspace]
			if name == "" {
				name = workspace[:min(minShownID, len(workspace))]
			}
			r["workspace"] = jsonString(name)
		}
		if title := names[text(r, "id")]; title != "" && r["score"] != nil && r["title"] == nil {
			r["title"] = jsonString(title)
		}
	}
}
