package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// fill sets every field of a struct that fits, in a way that depends on n.
func fill(v reflect.Value, n int, fits func(json string) bool) {
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); fits(name) {
			fillValue(v.Field(i), name, n)
		}
	}
}

func fillValue(v reflect.Value, name string, n int) {
	rule := loci.Rule{}
	if r, ok := v.Interface().(interface{ Rule() loci.Rule }); ok && v.Kind() != reflect.Pointer {
		rule = r.Rule()
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), name, n)
	case v.Kind() == reflect.Struct:
		fill(v, n, func(string) bool { return true })
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), name, n)
	case v.Kind() == reflect.Bool:
		v.SetBool(n%2 == 1)
	case len(rule.Enum) > 0:
		v.SetString(rule.Enum[n%len(rule.Enum)])
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint(name, " ", n))
	case v.CanFloat():
		v.SetFloat(1 / float64(n+1))
	default:
		v.SetInt(int64(n) * 1_000_000) // times have milliseconds on the wire
	}
}

// members returns the members of the JSON object of v.
func members(t *testing.T, v any) (m map[string]json.RawMessage) {
	t.Helper()
	testenv.NoError(t, json.Unmarshal(testenv.Must(json.Marshal(v))(t), &m))
	return m
}

// Each field of an input that a memory has too is stored. A new one needs no test of its own for that.
func TestFieldsOfInputsAreStored(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		record := members(t, loci.Memory{Source: &loci.Source{}, Tags: []string{}})
		stored := func(name string) bool {
			_, both := record[name]
			return both || name == "validUntil" || name == "evidence" || name == "confidence"
		}
		compare := func(what string, in any, id loci.ID) {
			t.Helper()
			shown := members(t, w.Get(t, id))
			for name, want := range members(t, in) {
				if stored(name) && !bytes.Equal(shown[name], want) {
					t.Errorf("%s: %s is %s, want %s", what, name, shown[name], want)
				}
			}
		}
		var create loci.CreateMemory
		fill(reflect.ValueOf(&create).Elem(), 1, stored)
		create.AtlasID, create.WorkspaceID, create.OnDuplicate = w.Atlas(t, "Shelf"), "", loci.OnDuplicateVersion
		id := MustCall(t, w, CallerOwner, service.MemoryCreate, create).Memory.ID
		compare("create", create, id)

		atlas := create.AtlasID
		source := *create.Source
		fill(reflect.ValueOf(&create).Elem(), 2, stored)
		create.AtlasID, create.WorkspaceID, create.Source = atlas, "", &source
		testenv.RequireEqual(t, MustCall(t, w, CallerOwner, service.MemoryCreate, create).Memory.ID, id,
			"version of a source")
		compare("create of a version", create, id)

		update := loci.UpdateMemory{}
		fill(reflect.ValueOf(&update).Elem(), 3, stored)
		update.MemoryID, update.AtlasID = id, w.Atlas(t, "Chest")
		MustCall(t, w, CallerOwner, service.MemoryUpdate, update)
		compare("update", update, id)

		verify := loci.VerifyMemory{}
		fill(reflect.ValueOf(&verify).Elem(), 1, stored)
		verify.MemoryID = id
		MustCall(t, w, CallerOwner, service.MemoryVerify, verify)
		compare("verify", verify, id)
	})
}
