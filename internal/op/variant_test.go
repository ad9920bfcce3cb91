package op_test

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

func TestVariantSelectsOperationsAndTools(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	for name, exposure := range map[string]op.Exposure{"memory.get": op.ToolCore, "memory.delete": op.ToolFull,
		"atlas.list": op.ToolStable, "atlas.archive": op.ToolStableOnly, "atlas.delete": op.ToolFull,
		"key.list": op.NoTool} {
		op.Add(table, name, "POST /"+name, "Do it.", op.Account, exposure,
			func(int, context.Context, *identity.Actor, loci.Empty) (out loci.Empty, err error) { return out, nil })
	}
	names := func(ops []*op.Op) (list []string) {
		for _, o := range ops {
			list = append(list, o.Name)
		}
		slices.Sort(list)
		return list
	}
	for _, c := range []struct {
		variant      op.Variant
		stable, full []string
	}{
		{op.Variant{}, []string{"atlas.archive", "atlas.list", "memory.get"},
			[]string{"atlas.delete", "atlas.list", "memory.delete", "memory.get"}},
		{op.Variant{Omitted: []string{"atlas.archive"}, Stable: []string{"atlas.delete"}},
			[]string{"atlas.delete", "atlas.list", "memory.get"},
			[]string{"atlas.delete", "atlas.list", "memory.delete", "memory.get"}},
		{op.Variant{Omitted: []string{"atlas.delete", "memory.delete"}, Full: op.StableTools},
			[]string{"atlas.archive", "atlas.list", "memory.get"},
			[]string{"atlas.archive", "atlas.list", "memory.get"}},
	} {
		kept, omitted := table.Variant(c.variant)
		if got := names(omitted); !slices.Equal(got, c.variant.Omitted) || len(kept.Ops)+len(omitted) != 6 {
			t.Errorf("%v: omitted %v, kept %v", c.variant, got, names(kept.Ops))
		}
		narrowed, _ := kept.Without([]string{"key.list"}) // stays of the variant
		for set, want := range map[op.Toolset][]string{op.CoreTools: {"memory.get"}, op.StableTools: c.stable,
			op.FullTools: c.full} {
			if got := names(narrowed.Tools(set)); !slices.Equal(got, want) {
				t.Errorf("%v: %s has %v, want %v", c.variant, set, got, want)
			}
		}
	}
}
