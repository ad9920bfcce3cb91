package records

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
)

// Describe returns the title or name and the whole id of the record that the input of an operation names, for a
// confirmation. A missing record is an error.
func (r Reader) Describe(ctx context.Context, o *op.Op, input []byte) (string, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil {
		return "", err
	}
	for _, f := range o.Fields() {
		var id loci.ID
		if f.Resource == "" || json.Unmarshal(given[f.Name], &id) != nil {
			continue
		}
		found, err := r.find(ctx, f.Resource, f.Name, id)
		if err != nil {
			return "", err
		}
		if name := format.StripControl(found.Title+found.Name, false); name != "" {
			return fmt.Sprintf("%q (%s)", name, id), nil
		}
		return string(id), nil
	}
	return "", nil
}

// find reads the record of an id with its get operation, or else from the list.
func (r Reader) find(ctx context.Context, resource, field string, id loci.ID) (found record, err error) {
	if get := r.Table.Op(resource + ".get"); get != nil {
		raw, err := r.call(ctx, get, jsonObject(field, id))
		var answer map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err != nil {
			return found, err
		}
		if inner, ok := answer[resource]; ok { // most answers nest the record
			raw = inner
		}
		return found, json.Unmarshal(raw, &found)
	}
	list := r.listOp(resource)
	if list == nil {
		return found, nil
	}
	for one, err := range r.list(ctx, list, unfiltered(list)) {
		if err != nil || one.ID == id {
			return one, err
		}
	}
	return found, loci.Errorf(loci.CodeNotFound, "No %s has the id %s.", resource, id)
}

func jsonID(id loci.ID) json.RawMessage {
	b, _ := json.Marshal(id) // a text
	return b
}

func jsonObject(name string, id loci.ID) []byte {
	b, _ := json.Marshal(map[string]loci.ID{name: id}) // texts
	return b
}
