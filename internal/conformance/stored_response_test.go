package conformance_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

var idPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// lastResponse returns the row id of the last stored response.
func lastResponse(t *testing.T, d storetest.Database) string {
	t.Helper()
	return d.Query(t, `SELECT CAST(max(row_id) AS TEXT) FROM idempotency_keys`)[0]
}

// similarPattern matches the list of similar memories, whose titles a stored response lacks.
var similarPattern = regexp.MustCompile(`"similar":\[[^\]]*\]`)

// responseRecords returns the ids of the records that a stored response is linked to.
func responseRecords(t *testing.T, d storetest.Database, response string) []string {
	t.Helper()
	return d.Query(t, `SELECT record FROM idempotency_records WHERE response = `+response)
}

// A response without a link to a record outlives its deletion.
func TestStoredResponsesAreLinkedToShownRecords(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := conformance.New(t, d.Open, withMail)
		responses, shown := 0, 0
		for _, o := range service.Ops.Ops {
			if !o.AcceptsIdempotencyKey() || o.ReadOnly || fixtures[o.Name].alone {
				continue
			}
			c := w.Call(ownerOf(o))
			c.IdempotencyKey = o.Name
			in := testenv.Must(json.Marshal(fixtureOf(t, o.Name).args(testScene{w, t})))(t)
			out, err := w.Host.Call(t.Context(), o, c, op.Args{JSON: in})
			if err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
			records := responseRecords(t, d, lastResponse(t, d))
			ids := idPattern.FindAllString(similarPattern.ReplaceAllString(string(out), ""), -1)
			for _, id := range ids {
				memory := d.Query(t, `SELECT id FROM memories WHERE id = '`+id+`'`)
				if len(memory) == 1 && !slices.Contains(records, id) {
					t.Errorf("%s shows the memory %s, and its stored response is not linked to it", o.Name, id)
				}
			}
			shown += len(ids)
			if responses++; len(ids) > 0 && len(records) == 0 {
				t.Errorf("%s: its stored response is linked to no record: see store.Tx.LinkResponse", o.Name)
			}
		}
		if responses < 13 || shown < 13 {
			t.Errorf("%d responses were stored, with %d ids", responses, shown)
		}
	})
}

func TestStoredResponsesAreDeletedWithEachShownRecord(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := conformance.New(t, d.Open, withMail)
		text := "the harbour master closes the eastern gate at nine in the evening, and opens it before the first tide"
		atlas := w.Atlas(t, "Shelf")
		responses := map[string]string{}
		create := func(key, content string) loci.CreatedMemory {
			c := w.Call(conformance.CallerOwner)
			c.IdempotencyKey = key
			defer func() { responses[key] = lastResponse(t, d) }()
			return testenv.Must(op.Do(t.Context(), w.Host, c, service.MemoryCreate,
				loci.CreateMemory{Content: loci.Content(content), AtlasID: atlas}))(t)
		}
		supersede := func(key, id string, by loci.ID) {
			c := w.Call(conformance.CallerOwner)
			c.IdempotencyKey = key
			testenv.Must(op.Do(t.Context(), w.Host, c, service.MemorySupersede,
				loci.SupersedeMemory{MemoryID: loci.ID(id), ReplacementMemoryID: by}))(t)
			responses[key] = lastResponse(t, d)
		}
		remove := func(id string) {
			testenv.Must(op.Do(t.Context(), w.Host, w.Call(conformance.CallerOwner), service.MemoryDelete,
				loci.DeleteMemory{MemoryID: loci.ID(id)}))(t)
		}
		first := create("first", text).Memory.ID
		similar := create("similar", text+" again").Memory
		if len(similar.Similar) != 1 || similar.Similar[0].ID != first {
			t.Fatalf("similar to %s: %v", first, similar.Similar)
		}
		other, by := create("other", "a lantern").Memory.ID, create("by", "a better lantern").Memory.ID
		supersede("supersede", string(other), by)
		testenv.Equal(t, len(responseRecords(t, d, responses["supersede"])), 2)
		remove(string(by))
		testenv.Len(t, d.Query(t, `SELECT key FROM idempotency_keys WHERE row_id = `+responses["supersede"]), 0,
			"the stored response outlives a memory that it shows")
		if again := create("similar", text+" again").Memory; again.ID != similar.ID || len(again.Similar) != 1 ||
			again.Similar[0] != similar.Similar[0] {
			t.Errorf("the replay is %v", again)
		}
		remove(string(first))
		if again := create("similar", text+" again").Memory; again.ID != similar.ID || len(again.Similar) != 0 {
			t.Errorf("after the deletion of the similar memory the replay is %v", again)
		}
		testenv.Len(t, d.Query(t, `SELECT row_id FROM idempotency_keys`), 2, "are kept: of other and similar")
		testenv.Must(purge.New(w.Store).PurgeMemory(t.Context(), other, true))(t)
		testenv.Len(t, d.Query(t, `SELECT record FROM idempotency_records`), 0, "are linked after a purge")
	})
}
