package op_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// TestNewInputSpecPanicsWhenFieldsAreTooMany checks objects of 64 and 65 fields, at the top and within another one.
func TestNewInputSpecPanicsWhenFieldsAreTooMany(t *testing.T) {
	t.Parallel()
	for n, wants := range map[int]bool{64: false, 65: true} {
		fields := make([]reflect.StructField, n)
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[bool](),
				Tag: reflect.StructTag(fmt.Sprintf(`json:"f%d,omitzero"`, i))}
		}
		flat := reflect.StructOf(fields)
		nested := reflect.StructOf([]reflect.StructField{{Name: "Inner", Type: reflect.SliceOf(flat),
			Tag: `json:"inner"`}})
		for _, typ := range []reflect.Type{flat, nested} {
			if panics(func() { op.NewInputSpec(typ) }) != wants {
				t.Errorf("%d fields: panic is not %v", n, wants)
			}
		}
	}
}

func TestNewInputSpecPanicsWhenResourceOfIDIsMissing(t *testing.T) {
	t.Parallel()
	for typ, wants := range map[reflect.Type]bool{
		reflect.TypeFor[struct {
			ID loci.ID `json:"id"`
		}](): true,
		reflect.TypeFor[struct {
			IDs []loci.ID `json:"ids"`
		}](): true,
		reflect.TypeFor[struct {
			Name string `json:"name" id:"thing"`
		}](): true,
		reflect.TypeFor[struct {
			ID  loci.ID   `json:"id" id:"thing"`
			IDs []loci.ID `json:"ids" id:"thing"`
		}](): false,
	} {
		if panics(func() { op.NewInputSpec(typ) }) != wants {
			t.Errorf("%s: panic is not %v", typ, wants)
		}
	}
}

func TestToolDefaultIsStatedByTag(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	list := op.Add(table, "thing.list", "GET /list", "List.", op.Account, op.ToolCore,
		func(*fakeService, context.Context, *identity.Actor, loci.ListMemories) (loci.Memories, error) {
			return loci.Memories{}, nil
		})
	search := op.Add(table, "thing.search", "POST /search", "Search.", op.Account, op.ToolCore,
		func(*fakeService, context.Context, *identity.Actor, loci.SearchMemories) (loci.FoundMemories, error) {
			return loci.FoundMemories{}, nil
		}, op.Read)
	for o, want := range map[*op.Op]int{list.Op: 0, search.Op: 10} {
		for _, f := range o.Fields() {
			if f.Name == "limit" && (f.ToolDefault != want || f.Default != 20) {
				t.Errorf("%s: %+v", o.Name, f)
			}
			if f.Name != "limit" && f.ToolDefault != 0 {
				t.Errorf("%s: %+v", o.Name, f)
			}
		}
	}
	for typ, wants := range map[reflect.Type]bool{
		reflect.TypeFor[struct {
			loci.Paging `tool:"limit=10"`
		}](): false,
		reflect.TypeFor[struct {
			loci.Paging `tool:"limits=10"`
		}](): true,
		reflect.TypeFor[struct {
			loci.Paging `tool:"limit=ten"`
		}](): true,
	} {
		if panics(func() { op.NewInputSpec(typ) }) != wants {
			t.Errorf("%s: panic is not %v", typ, wants)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
