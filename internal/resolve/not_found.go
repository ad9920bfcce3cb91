package resolve

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// ExplainNotFound names the kinds of the records in the error of an operation for an id, and the tools that show their
// ids. It says the same of an id that is ill-formed, unknown or out of reach. Other errors stay.
func (r Reader) ExplainNotFound(o *op.Op, input []byte, err error) error {
	e := loci.AsError(err)
	var given map[string]json.RawMessage
	if e.Code != loci.CodeNotFound || e.Message != loci.CodeNotFound.Hint() || json.Unmarshal(input, &given) != nil {
		return err
	}
	var kinds, tools []string
	for _, f := range o.Fields() {
		if f.Resource == "" || given[f.Name] == nil || slices.Contains(kinds, f.Resource) {
			continue
		}
		kinds = append(kinds, f.Resource)
		for _, list := range append(r.ListsOf(f.Resource), r.Table.Op(f.Resource+".search")) {
			if list != nil && list.Exposure >= o.Exposure {
				tools = append(tools, list.ToolName())
			}
		}
	}
	if kinds == nil {
		return err
	}
	text := "There is no such " + strings.Join(kinds, " or ") + " within your reach: give its id"
	if tools != nil {
		text += ", as in the answer of " + strings.Join(tools, " or ")
	}
	return loci.Errorf(loci.CodeNotFound, "%s.", text)
}
