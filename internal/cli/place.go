package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/loci-memory/loci/internal/op"
)

// places returns the names of the atlases that the records of an answer are
// from, by their ids, with the workspace where the caller has several. What
// cannot be read has no name: the answer is shown all the same.
func (p *program) places(ctx context.Context, caller op.Caller, raw []byte) map[string]string {
	atlases, workspaces := p.table.Op("atlas.list"), p.table.Op("workspace.list")
	if atlases == nil || workspaces == nil || !bytes.Contains(raw, []byte(`"atlasId":`)) {
		return nil
	}
	names, spaces := map[string]string{}, map[string]string{}
	for w, err := range walk(ctx, caller, workspaces, everything(workspaces)) {
		if err != nil {
			return nil
		}
		spaces[w.ID] = w.Name
	}
	looked := 0
	for a, err := range walk(ctx, caller, atlases, everything(atlases)) {
		if looked++; err != nil || looked > mostLooked {
			break
		}
		names[a.ID] = a.Name
		if len(spaces) > 1 {
			names[a.ID] = spaces[a.WorkspaceID] + "/" + a.Name
		}
	}
	return names
}

// placed adds the name of its atlas to each record.
func placed(records []map[string]json.RawMessage, names map[string]string) {
	for _, r := range records {
		var id string
		if json.Unmarshal(r["atlasId"], &id) == nil && names[id] != "" {
			r["atlas"] = quote(names[id])
		}
	}
}
