package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/relevance"
)

// settings are the settings of a run, so that it can be repeated.
type settings struct {
	version.Info
	At        loci.Time `json:"at"`
	Database  string    `json:"database"`
	Model     string    `json:"model"` // generation of the vectors
	Processor string    `json:"processor"`
	Modes     []string  `json:"modes"`
	Limit     int       `json:"limit"`
	Clients   int       `json:"clients"` // that load at once
	Typos     int       `json:"typos"`   // in each query
	Seed      uint64    `json:"seed"`    // of the typos
	Resamples int       `json:"resamples"`
}

// A datasetResult holds the measurements of one dataset.
type datasetResult struct {
	Name        string  `json:"name"`
	Memories    int     `json:"memories"`
	Questions   int     `json:"questions"`
	WithoutTypo int     `json:"unspoiled,omitzero"` // queries without a word for a typo
	Bytes       int64   `json:"bytes"`              // of the database after the load
	Seconds     float64 `json:"loadSeconds"`        // until the last vector is stored
	Rate        float64 `json:"loadPerSecond"`      // memories
	Failed      int64   `json:"failed"`             // chunks without a vector

	Modes []relevance.Result `json:"modes"`
}

func (r *datasetResult) setLoad(l *relevance.LoadedDataset) {
	r.Seconds = l.Duration.Round(time.Millisecond).Seconds()
	r.Rate = float64(int(float64(r.Memories)/l.Duration.Seconds()*10)) / 10
	r.Failed = l.FailedEmbeddings
}

// A report is the output of loci bench retrieval with --json.
type report struct {
	Settings settings        `json:"settings"`
	Datasets []datasetResult `json:"sets"`
}

func (b *retrieval) newReport() *report {
	return &report{Settings: settings{Info: version.Get(), At: loci.TimeOf(time.Now()),
		Processor: relevance.Processor(), Modes: b.modes, Limit: relevance.CutoffDepth,
		Clients: b.clients, Typos: b.typos, Seed: b.seed, Resamples: relevance.BootstrapResamples}}
}

func (b *retrieval) printSettings(s settings) {
	fmt.Fprintf(b.Out, "loci %s, %s, model %s, %s, %s, %s\n", s.Version, s.Database, s.Model, s.Go, s.Platform,
		s.Processor)
	fmt.Fprintf(b.Out, "The first %d memories count. Below each measure is its 95 %% interval, of %d resamples.\n",
		s.Limit, s.Resamples)
	if s.Typos > 0 {
		fmt.Fprintf(b.Out, "Each question has %s, of seed %d.\n", format.Plural(s.Typos, "typo", "typos"), s.Seed)
	}
}

func (b *retrieval) printDataset(r datasetResult) {
	fmt.Fprintf(b.Out, "\n%s: %s, %s; loaded by %s in %.2f s (%.0f a second); %.1f MB\n",
		format.StripControl(r.Name, false),
		format.Plural(r.Memories, "memory", "memories"), format.Plural(r.Questions, "question", "questions"),
		format.Plural(b.clients, "client", "clients"), r.Seconds, r.Rate, float64(r.Bytes)/1e6)
	if r.Failed > 0 {
		fmt.Fprintf(b.Out, "%s got no vector.\n", format.Plural(r.Failed, "chunk", "chunks"))
	}
	if r.WithoutTypo > 0 {
		fmt.Fprintf(b.Out, "%s without a word for a typo.\n", format.Plural(r.WithoutTypo, "question", "questions"))
	}
	w := tabwriter.NewWriter(b.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODE\tR@5\tR@10\tMRR\tNDCG@10\tP50 MS\tP95 MS\tSERVER P50\tANSWERED BY")
	for _, m := range r.Modes {
		measures := []relevance.Estimate{m.Recall5, m.Recall10, m.MRR, m.NDCG10}
		mode := string(m.Mode)
		if m.Atlas {
			mode += ", atlas"
		}
		fmt.Fprintf(w, "%s\t", mode)
		for _, e := range measures {
			fmt.Fprintf(w, "%s\t", formatScore(e.Mean))
		}
		fmt.Fprintf(w, "%.2f\t%.2f\t%.2f\t%s\n\t", m.P50, m.P95, m.ServerP50, resolvedModes(m))
		for _, e := range measures {
			fmt.Fprintf(w, "%s-%s\t", formatScore(e.Low), formatScore(e.High))
		}
		fmt.Fprintln(w, "\t\t\t")
	}
	w.Flush()
}

// formatScore writes .743 and 1.000.
func formatScore(v float64) string { return strings.TrimPrefix(fmt.Sprintf("%.3f", v), "0") }

// resolvedModes counts the modes of the answers, and the answers that used a cache.
func resolvedModes(r relevance.Result) string {
	var list []string
	for _, mode := range slices.Sorted(maps.Keys(r.Resolved)) {
		list = append(list, fmt.Sprintf("%s %d", mode, r.Resolved[mode]))
	}
	if r.Cached > 0 {
		list = append(list, fmt.Sprintf("cached %d", r.Cached))
	}
	return strings.Join(list, ", ")
}
