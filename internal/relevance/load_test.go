package relevance_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/testenv"
)

// open runs a server with an empty database until the end of the test.
func open(t *testing.T) *client.Client {
	t.Helper()
	trial := testenv.Must(server.NewBenchServer(t.Context(), "", nil))(t)
	url, stop, err := trial.Start(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		testenv.Equal(t, errors.Join(stop(), trial.Close()), nil)
	})
	c := testenv.Must(client.New(url, client.WithKey(trial.Key)))(t)
	return c
}

// talks are two conversations with the same words.
var talks = relevance.Dataset{
	Documents: []relevance.Document{
		{Group: "one", ID: "D1:1", Text: "Who feeds the cat?"},
		{Group: "one", ID: "D1:2", Title: "Ada", Text: "Ann feeds the cat."},
		{Group: "one", ID: "D2:1", Text: "It rains."},
		{Group: "two", ID: "D1:1", Text: "Who feeds the cat?"}, {Group: "two", ID: "D1:2", Text: "Bob feeds the cat."},
	},
	Queries: []relevance.Query{
		{Group: "one", Text: "rains", Relevant: map[string]float64{"D2:1": 1}},
		{Group: "two", Text: "Ann", Relevant: map[string]float64{"D1:1": 1}},
		{Group: "two", Text: "Bob", Relevant: map[string]float64{"D1:2": 2}},
	},
}

func TestRunSearchesGroupOfQuery(t *testing.T) {
	t.Parallel()
	c := open(t)
	var told atomic.Int64
	l := testenv.Must(relevance.Load(t.Context(), c, talks, 3, func(int, int) { told.Add(1) }))(t)
	if told.Load() < 5 || l.Duration <= 0 || l.FailedEmbeddings != 0 {
		t.Errorf("progress %d times, took %v, failed %d", told.Load(), l.Duration, l.FailedEmbeddings)
	}
	r := testenv.Must(l.Run(t.Context(), c, loci.ModeKeyword, func(int, int) {}))(t)
	// No text of its group contains a word of the second query.
	if r.Recall10.Mean != 2./3 || r.MRR.Mean != 2./3 || r.Resolved[loci.ResolvedKeyword] != 3 || r.P95 < r.P50 ||
		r.P50 < r.ServerP50 {
		t.Errorf("%+v", r)
	}
}

func TestLoadTogetherSharesWorkspace(t *testing.T) {
	t.Parallel()
	c := open(t)
	other := relevance.Dataset{
		Documents: []relevance.Document{{ID: "D1:1", Text: "Bob feeds the cat."}},
		Queries:   []relevance.Query{{Text: "cat", Relevant: map[string]float64{"D1:1": 1}}},
	}
	list, err := relevance.LoadTogether(t.Context(), c, []relevance.Dataset{talks, other}, 2, func(int, int) {})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for i, want := range []float64{2. / 3, 1} {
		all := testenv.Must(list[i].Run(t.Context(), c, loci.ModeKeyword, func(int, int) {}))(t)
		alone := testenv.Must(list[i].RunInAtlas(t.Context(), c, loci.ModeKeyword, func(int, int) {}))(t)
		if all.Atlas || !alone.Atlas || all.MRR.Mean > want || i == 1 && all.MRR.Mean == want ||
			alone.MRR.Mean != want {
			t.Errorf("set %d: %+v\n%+v", i, all, alone)
		}
	}
	workspaces, err := c.WorkspaceList(t.Context(), loci.ListWorkspaces{})
	if err != nil || len(workspaces.Workspaces) != 2 { // one is personal
		t.Errorf("%+v, %v", workspaces, err)
	}
}

func TestLoadStoresGroupAndPosition(t *testing.T) {
	t.Parallel()
	c := open(t)
	testenv.Must(relevance.Load(t.Context(), c, talks, 1, func(int, int) {}))(t)
	list := testenv.Must(c.MemoryList(t.Context(), loci.ListMemories{}))(t)
	places := map[string]int64{}
	for _, m := range list.Memories {
		places[string(m.Source.Group)] += *m.Source.Position
		if m.Title == "Ada" && (m.Source.Group != "one/D1" || *m.Source.Position != 2) {
			t.Errorf("%+v", m.Source)
		}
	}
	if len(list.Memories) != 5 || places["one/D1"] != 3 || places["one/D2"] != 1 || places["two/D1"] != 3 {
		t.Errorf("%d memories at %v", len(list.Memories), places)
	}
}

func TestLoadNamesRejectedDocument(t *testing.T) {
	t.Parallel()
	c := open(t)
	bad := relevance.Dataset{Documents: []relevance.Document{{ID: "good", Text: "x"}, {ID: "nul", Text: "a\x00b"}}}
	_, err := relevance.Load(t.Context(), c, bad, 2, func(int, int) {})
	if !loci.Is(err, loci.CodeInvalidQuery) || !strings.HasPrefix(loci.AsError(err).Message, `the document "nul": `) {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := relevance.Load(gone, c, talks, 2, func(int, int) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
