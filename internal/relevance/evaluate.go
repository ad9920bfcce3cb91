package relevance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
)

// A Result holds the quality and the times of one dataset in one mode. Times are milliseconds.
type Result struct {
	Mode     loci.Mode `json:"mode"`
	Atlas    bool      `json:"atlas,omitzero"` // each query searched the atlas of its group only
	Recall5  Estimate  `json:"recall5"`
	Recall10 Estimate  `json:"recall10"`
	MRR      Estimate  `json:"mrr"`
	NDCG10   Estimate  `json:"ndcg10"`

	P50       float64 `json:"p50Ms"`       // measured by the client
	P95       float64 `json:"p95Ms"`       // measured by the client
	ServerP50 float64 `json:"serverP50Ms"` // meta.timings.totalMs

	// the number of queries by the mode that the server chose
	Resolved map[loci.ResolvedMode]int `json:"resolved"`
	Cached   int                       `json:"cached"` // the number of cached results
}

// Run sends every query of the dataset, one after another, to the workspace of its group, and grades the results.
func (l *LoadedDataset) Run(ctx context.Context, c *client.Client, mode loci.Mode, progress Progress) (Result, error) {
	return l.run(ctx, c, mode, false, progress)
}

// RunInAtlas does the same in the atlas of each query's group, for datasets that were loaded together.
func (l *LoadedDataset) RunInAtlas(ctx context.Context, c *client.Client, mode loci.Mode,
	progress Progress) (Result, error) {
	return l.run(ctx, c, mode, true, progress)
}

func (l *LoadedDataset) run(ctx context.Context, c *client.Client, mode loci.Mode, atlas bool,
	progress Progress) (Result, error) {
	r := Result{Mode: mode, Atlas: atlas, Resolved: map[loci.ResolvedMode]int{}}
	var values [4][]float64
	var seen, served []float64
	for i, q := range l.Queries {
		began := time.Now()
		in := loci.SearchMemories{Query: loci.Query(q.Text), Mode: mode, Paging: loci.Paging{Limit: CutoffDepth},
			MemoryFilter: loci.MemoryFilter{WorkspaceID: loci.ID(l.targets[q.Group].workspace)}}
		if atlas {
			in.AtlasID = loci.ID(l.targets[q.Group].atlas)
		}
		found, err := c.MemorySearch(ctx, in)
		if err != nil {
			return r, withContext(fmt.Sprintf("the query %q", q.Text), err)
		}
		seen = append(seen, float64(time.Since(began).Microseconds())/1000)
		served = append(served, found.Meta.Timings.TotalMs)
		r.Resolved[found.Mode]++
		if found.Meta.Cache != loci.CacheNone {
			r.Cached++
		}
		m := Evaluate(q.Relevant, l.resultIDs(q.Group, found))
		for j, v := range []float64{m.Recall5, m.Recall10, m.MRR, m.NDCG10} {
			values[j] = append(values[j], v)
		}
		progress(i+1, len(l.Queries))
	}
	r.Recall5, r.Recall10, r.MRR, r.NDCG10 = Bootstrap(values[0]), Bootstrap(values[1]), Bootstrap(values[2]),
		Bootstrap(values[3])
	slices.Sort(seen)
	slices.Sort(served)
	r.P50, r.P95, r.ServerP50 = quantile(seen, .5), quantile(seen, .95), quantile(served, .5)
	return r, nil
}

// resultIDs returns the dataset ids of the memories found. A memory of another group or dataset gets an empty id.
func (l *LoadedDataset) resultIDs(group string, found loci.FoundMemories) []string {
	list := make([]string, len(found.Memories))
	for i, m := range found.Memories {
		if d := l.documents[string(m.ID)]; d.group == group {
			list[i] = d.id
		}
	}
	return list
}
