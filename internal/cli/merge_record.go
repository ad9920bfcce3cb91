package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/op"
)

// mergeRecord adds the fields of the present record to the input of an operation that replaces it, so that a command
// changes the given flags alone. A field that is an object is merged, too.
func (p *program) mergeRecord(ctx context.Context, caller op.Caller, o *op.Op, c *op.Call,
	input []byte) ([]byte, error) {
	reader := p.readerOf(o)
	var given map[string]any
	if reader == nil || json.Unmarshal(input, &given) != nil {
		return input, nil
	}
	which := map[string]any{}
	for _, f := range reader.Fields() {
		if v, ok := given[f.Name]; ok {
			which[f.Name] = v
		}
	}
	question, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	raw, err := caller.Call(ctx, reader, &op.Call{Transport: c.Transport, RequestID: c.RequestID,
		ActorHeader: c.ActorHeader}, op.Args{JSON: question})
	if err != nil {
		return nil, err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	for _, value := range answer {
		var record map[string]any
		if json.Unmarshal(value, &record) == nil {
			addMissing(o, given, record)
		}
	}
	return json.Marshal(given)
}

// readerOf returns the operation that reads the record which a PUT replaces, or nil.
func (p *program) readerOf(o *op.Op) *op.Op {
	i := slices.IndexFunc(p.table.Ops, func(r *op.Op) bool { return r.Method == "GET" && r.Path == o.Path })
	if i < 0 {
		return nil
	}
	return p.table.Ops[i]
}

// addMissing adds the fields of a record that an input lacks.
func addMissing(o *op.Op, given, record map[string]any) {
	for _, f := range o.Fields() {
		present, ok := record[f.Name]
		if !ok || f.Location != op.InBody {
			continue
		}
		switch value, ok := given[f.Name]; {
		case !ok:
			given[f.Name] = present
		case f.Fields != nil:
			old, isOld := present.(map[string]any)
			if changed, isObject := value.(map[string]any); isOld && isObject {
				merged := maps.Clone(old)
				maps.Copy(merged, changed)
				given[f.Name] = merged
			}
		}
	}
}
