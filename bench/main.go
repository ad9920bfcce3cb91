// Bench measures Loci beside floors: programs that do the least for the same response (bench/floor). Every figure of a
// row is measured in the same run, in rounds in which all sides take turns, and is the median of the rounds. CPU is the
// user and system time of the server process alone; clients are in this process.
//
//	go run -tags sqlite_fts5 ./bench [-run get,create,...] [-rounds 7] [-memories 100000] [-former FILE]
//	go run -tags sqlite_fts5 ./bench soak [-for 30m]
//
// rows.go has the table of rows, and docs/benchmarks.md their data.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// A bench is one run.
type bench struct {
	ctx      context.Context
	rounds   int
	memories int      // in the workspace that is searched
	drivers  []string // of SQLite: thresholds are for the first
	postgres string   // address of a server; empty is none
	former   string   // another build of Loci; empty is none

	cache    string // folder of binaries and loaded databases, for later runs
	scratch  string // folder of this run
	report   report
	corpus   *corpus
	stub     []string // environment of an embedder that costs nothing, and
	silent   []string // of one that never responds
	fixtures map[string]*fixture
	atEnd    []func() // of the running row
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run, args := runBench, os.Args[1:]
	if len(args) > 0 && args[0] == "soak" {
		run, args = runSoak, args[1:]
	}
	if err := run(ctx, args); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runBench(ctx context.Context, args []string) error {
	b := &bench{ctx: ctx, report: report{rounds: series{}}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("run", "", "rows to run, with commas, of "+rowNames()+"; default: all")
	drivers := flags.String("driver", "mattn,modernc", "drivers of SQLite, with commas; thresholds are for the first")
	out := flags.String("json", "", "file for the raw figures of every round")
	flags.IntVar(&b.rounds, "rounds", 7, "rounds")
	flags.IntVar(&b.memories, "memories", 100_000, "memories in the workspace that is searched")
	flags.StringVar(&b.postgres, "postgres", os.Getenv("LOCI_TEST_PG18"),
		"address of a PostgreSQL server; empty leaves its figures out")
	flags.StringVar(&b.former, "former", "", "another build of Loci, which get, create and search compare")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.drivers = strings.Split(*drivers, ","); b.rounds < 1 || b.memories < 1000 {
		return errors.New("-rounds must be at least 1, -memories at least 1000")
	}
	return attempt(func() {
		chosen := must(chooseRows(*only))
		defer b.cleanUp()
		b.prepare()
		all, others := cpuTicks()
		for _, r := range chosen {
			fmt.Fprintln(os.Stderr, "bench:", r.name)
			if err := attempt(func() { b.runRow(r) }); err != nil {
				check(fmt.Errorf("%s: %w", r.name, err))
			}
		}
		nowAll, nowOthers := cpuTicks()
		b.report.otherWork = max(0, (nowOthers-others)/(nowAll-all))
		b.report.print()
		if *out != "" {
			check(os.WriteFile(*out, b.raw(), 0o644))
		}
	})
}

// prepare makes the folders, reads the texts, starts the stubs and builds the programs.
func (b *bench) prepare() {
	must(processCPU(os.Getpid()))
	b.cache = filepath.Join(os.TempDir(), "loci-bench")
	check(os.MkdirAll(b.cache, 0o700))
	b.scratch = must(os.MkdirTemp(b.cache, "run-"))
	b.corpus = must(readCorpus("../shared/data/retrieval"))
	b.stub, b.silent = startStub(false), startStub(true)
	b.fixtures = map[string]*fixture{}
	for _, driver := range b.drivers {
		b.build(driver)
	}
}

// chooseRows returns the rows with the given names, or all.
func chooseRows(names string) (chosen []row, err error) {
	for name := range strings.SplitSeq(cmp.Or(names, rowNames()), ",") {
		i := slices.IndexFunc(rows(), func(r row) bool { return r.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no row %q: %s", name, rowNames())
		}
		chosen = append(chosen, rows()[i])
	}
	return chosen, nil
}

func rowNames() string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return strings.Join(names, ",")
}

// A failure ends a row, as Fatal ends a test.
type failure struct{ error }

// check ends the row with an error. Only the goroutine of the row calls it.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a value, or ends the row with an error.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// attempt returns the error that ended f.
func attempt(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = failed.error
		}
	}()
	f()
	return nil
}
