package op

import "slices"

// A Variant is a form of the contract that lacks operations. The zero Variant has all of them.
type Variant struct {
	Omitted []string // names of the operations that it lacks
	Stable  []string // tools of the full set that are in its stable set too
	Full    Toolset  // the set of clients that ask for the full set; empty means the full set
}

// Variant returns the table of a variant, and the omitted operations.
func (t *Table) Variant(v Variant) (kept *Table, omitted []*Op) {
	kept, omitted = t.Without(v.Omitted)
	kept.variant = v
	return kept, omitted
}

// Without returns the table without the operations of these names, and the omitted operations.
func (t *Table) Without(names []string) (kept *Table, omitted []*Op) {
	kept = &Table{variant: t.variant}
	for _, o := range t.Ops {
		if slices.Contains(names, o.Name) {
			omitted = append(omitted, o)
		} else {
			kept.Ops = append(kept.Ops, o)
		}
	}
	return kept, omitted
}

// Tools returns the operations of a set of tools, in the order of the table.
func (t *Table) Tools(set Toolset) (tools []*Op) {
	if set == FullTools && t.variant.Full != "" {
		set = t.variant.Full
	}
	for _, o := range t.Ops {
		in := slices.Contains(o.Exposure.Toolsets(), set) ||
			set == StableTools && slices.Contains(t.variant.Stable, o.Name)
		if in && !o.Streams {
			tools = append(tools, o)
		}
	}
	return tools
}
