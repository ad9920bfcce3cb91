package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/version"
	"github.com/loci-memory/loci/internal/relevance"
	"github.com/loci-memory/loci/internal/server"
)

// Command returns loci bench.
func Command(c *console.Console) *cobra.Command {
	group := command.Group("bench", "Measure the quality of search")
	group.AddCommand(retrievalCommand(c))
	return group
}

// A retrieval holds the options of loci bench retrieval.
type retrieval struct {
	*console.Console
	data    []string
	db      string
	modes   []string
	clients int
	typos   int
	seed    uint64

	together bool
}

// searchModes are the search modes.
var searchModes = loci.Mode("").Rule().Enum

func retrievalCommand(c *console.Console) *cobra.Command {
	b := &retrieval{Console: c}
	cmd := &cobra.Command{
		Use:   "retrieval --data DIR...",
		Short: "Measure search quality with judged queries",
		Long: `Loads texts into a new, empty database of its own, asks questions whose answers you know, and measures
the answers: recall at 5 and 10, MRR and nDCG at 10, each with its 95 % interval, and how long they took.
Your own memories are not touched, and nothing is left behind.

A DIR is a dataset, or a folder of datasets. A dataset is a folder with two files of JSON lines.
docs.jsonl has the texts:

    {"id": "pump", "title": "Pump", "text": "The red switch starts it."}

queries.jsonl has the questions, each with the ids of the texts that answer it, and how well each does:

    {"text": "how do I start the pump", "relevant": {"pump": 1}}

The numbers are above 0. Texts and questions may have a "group": a question then searches the texts of its
group only. An id such as "talk-3:14" means that the text is part 14 of the conversation or document talk-3.
Texts are written with POST /v1/memories; credentials in them are redacted.

With --together all datasets share one workspace, in which each group has an atlas. Each question searches all
texts, where those of other datasets are wrong answers, and then the atlas of its group.`,
		Example: "loci bench retrieval --data my-set\nloci bench retrieval --data sets --modes keyword,hybrid " +
			"--json\n" +
			"loci bench retrieval --data my-set --typos 2 --seed 1\nloci bench retrieval --data my-set --db " +
			"postgres://me@localhost/empty",
		RunE: func(cmd *cobra.Command, more []string) error {
			b.data = append(b.data, more...)
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&b.data, "data", nil, "Folder of a set, or of sets; may be given several times (required)")
	flags.StringVar(&b.db, "db", "", "Address of an empty PostgreSQL database (postgres://...) in place of SQLite")
	flags.StringSliceVar(&b.modes, "modes", []string{"keyword", "semantic", "hybrid", "auto"}, "Modes in which to ask")
	flags.IntVar(&b.clients, "clients", 8, "Clients that load at once; questions are asked one by one. With 1, equal "+
		"scores come in the same order each time")
	flags.IntVar(&b.typos, "typos", 0, "Typos made in each question, in words of at least 4 letters")
	flags.BoolVar(&b.together, "together", false,
		"Load all sets into one workspace, an atlas for each group; ask among all texts and in one atlas")
	flags.Uint64Var(&b.seed, "seed", 1, "Seed of the typos")
	return cmd
}

func (b *retrieval) validate() error {
	for _, m := range b.modes {
		if !slices.Contains(searchModes, m) {
			return command.UsageError(fmt.Sprintf("--modes: %q must be one of %s", m, strings.Join(searchModes, ", ")))
		}
	}
	switch {
	case len(b.data) == 0:
		return command.UsageError("--data is required: name the folder of a dataset")
	case len(b.modes) == 0:
		return command.UsageError("--modes must name at least one mode")
	case b.clients < 1 || b.clients > 64:
		return command.UsageError("--clients must be 1 to 64")
	case b.typos < 0 || b.typos > 10:
		return command.UsageError("--typos must be 0 to 10")
	}
	return nil
}

func (b *retrieval) run(ctx context.Context) error {
	if err := b.validate(); err != nil {
		return err
	}
	sets, err := b.readDatasets()
	if err != nil {
		return &loci.Error{Code: loci.CodeInvalidQuery, Message: err.Error(), Err: err}
	}
	report := b.newReport()
	batches := make([][]relevance.Dataset, 0, len(sets))
	for _, s := range sets {
		batches = append(batches, []relevance.Dataset{s})
	}
	if b.together {
		batches = [][]relevance.Dataset{sets}
	}
	for i, batch := range batches {
		results, err := b.measure(ctx, batch, &report.Settings)
		if err != nil {
			return err
		}
		report.Datasets = append(report.Datasets, results...)
		if b.JSON {
			continue
		}
		if i == 0 {
			b.printSettings(report.Settings)
		}
		for _, r := range results {
			b.printDataset(r)
		}
	}
	if b.JSON {
		return b.PrintJSON(report)
	}
	return nil
}

// readDatasets reads all datasets before the first one is measured, so that an
// error in any of them is reported at once.
func (b *retrieval) readDatasets() (sets []relevance.Dataset, err error) {
	for _, path := range b.data {
		dirs, err := relevance.DatasetFolders(path)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			s, err := relevance.ReadDataset(dir)
			if err != nil {
				return nil, err
			}
			sets = append(sets, s)
		}
	}
	return sets, nil
}

// measure loads one dataset, or several into one workspace, into a new database and runs the queries. The server
// restarts for each mode, so that no mode profits from the caches of another.
func (b *retrieval) measure(ctx context.Context, sets []relevance.Dataset,
	used *settings) (list []datasetResult, err error) {
	list = make([]datasetResult, len(sets))
	sets = slices.Clone(sets)
	for i, s := range sets {
		list[i] = datasetResult{Name: s.Name, Memories: len(s.Documents), Questions: len(s.Queries)}
		if b.typos > 0 {
			sets[i], list[i].WithoutTypo = s.WithTypos(b.typos, b.seed)
		}
	}
	srv, err := server.NewBenchServer(ctx, b.db, b.Environ)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	used.Database, used.Model = srv.Engine, srv.Model
	loaded, err := b.load(ctx, srv, sets)
	if err != nil {
		return nil, err
	}
	bytes, err := srv.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	for i, l := range loaded {
		list[i].setLoad(l)
		list[i].Bytes = bytes
	}
	for _, mode := range b.modes {
		if err := b.runQueries(ctx, srv, loaded, loci.Mode(mode), list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// load loads the datasets: one into a workspace for each group, several into one.
func (b *retrieval) load(ctx context.Context, srv *server.BenchServer,
	sets []relevance.Dataset) (loaded []*relevance.LoadedDataset, err error) {
	what := sets[0].Name
	if b.together {
		what = "together"
	}
	return loaded, b.withServer(srv.Start, srv.Key, what+": loading",
		func(c *client.Client, report relevance.Progress) (err error) {
			if b.together {
				loaded, err = relevance.LoadTogether(ctx, c, sets, b.clients, report)
				return err
			}
			l, err := relevance.Load(ctx, c, sets[0], b.clients, report)
			loaded = append(loaded, l)
			return err
		})
}

// runQueries runs the queries of the datasets in a mode. For datasets in one
// workspace it also runs them in the atlas of each group.
func (b *retrieval) runQueries(ctx context.Context, srv *server.BenchServer, loaded []*relevance.LoadedDataset,
	mode loci.Mode,
	list []datasetResult) error {
	for i, l := range loaded {
		ways := []func(context.Context, *client.Client, loci.Mode, relevance.Progress) (relevance.Result, error){l.Run}
		if b.together {
			ways = append(ways, l.RunInAtlas)
		}
		for _, ask := range ways {
			err := b.withServer(srv.Start, srv.Key, l.Name+": "+string(mode),
				func(c *client.Client, report relevance.Progress) error {
					result, err := ask(ctx, c, mode, report)
					list[i].Modes = append(list[i].Modes, result)
					return err
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withServer calls f while a server runs.
func (b *retrieval) withServer(start func(io.Writer) (string, func() error, error), key, what string,
	f func(*client.Client, relevance.Progress) error) error {
	url, stop, err := start(b.Err)
	if err != nil {
		return err
	}
	bar := b.Progress(what)
	c, err := client.New(url, client.WithKey(key), client.WithUserAgent("loci-bench/"+version.Get().Version))
	if err == nil {
		err = f(c, bar.Update)
	}
	bar.Clear()
	return errors.Join(err, stop())
}
