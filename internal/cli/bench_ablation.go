package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/server"
)

// An ablationResult search is one that leaves a feature out; nDCG at 10 in each mode.
type ablationResult struct {
	Without string                `json:"without"` // empty is nothing
	NDCG10  map[loci.Mode]float64 `json:"ndcg10"`
}

// semanticFeatures are the features of which a search by words alone knows nothing.
var semanticFeatures = []string{"fill", "scores"}

// runAblation asks the questions again without each feature, by words and hybrid, as
// far as these modes are asked for. Each has a server of its own on the same database.
func (b *retrievalBench) runAblation(ctx context.Context, t *server.BenchServer,
	l *relevance.LoadedDataset) (list []ablationResult, err error) {
	for _, feature := range append([]string{""}, server.Features()...) {
		a := ablationResult{feature, map[loci.Mode]float64{}}
		for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeHybrid} {
			if !slices.Contains(b.modes, string(mode)) ||
				mode == loci.ModeKeyword && slices.Contains(semanticFeatures, feature) {
				continue
			}
			start := func(logs io.Writer) (string, func() error, error) { return t.StartWithout(feature, logs) }
			err = b.withServer(start, t.Key, fmt.Sprintf("%s: %s without %s", l.Name, mode, feature),
				func(c *client.Client, report relevance.Progress) error {
					result, err := l.Run(ctx, c, mode, report)
					a.NDCG10[mode] = result.NDCG10.Mean
					return err
				})
			if err != nil {
				return nil, err
			}
		}
		list = append(list, a)
	}
	return list, nil
}

// printAblation shows nDCG at 10 without each feature, and what the feature adds, in
// points of a hundred.
func (b *retrievalBench) printAblation(r datasetResult) {
	if len(r.Ablation) == 0 {
		return
	}
	fmt.Fprintln(b.out, "\nNDCG@10 without each feature, and what it adds, in hundredths:")
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WITHOUT\tKEYWORD\t\tHYBRID\t")
	for _, a := range r.Ablation {
		name := a.Without
		if name == "" {
			name = "nothing"
		}
		fmt.Fprint(w, name)
		for _, mode := range []loci.Mode{loci.ModeKeyword, loci.ModeHybrid} {
			v, there := a.NDCG10[mode]
			whole := r.Ablation[0].NDCG10[mode]
			switch {
			case !there:
				fmt.Fprint(w, "\t\t")
			case a.Without == "":
				fmt.Fprintf(w, "\t%s\t", formatScore(v))
			default:
				fmt.Fprintf(w, "\t%s\t%+.1f", formatScore(v), 100*(whole-v))
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
