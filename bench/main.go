// Bench measures Loci beside floors: programs that do the least for the same response (bench/floor). Every figure of a
// row is measured in the same run, in rounds in which all sides take turns, and is the median of the rounds. CPU is the
// user and system time of the server process alone; clients are in this process. Wall time is shown only where a row is
// about it.
//
//	go run -tags sqlite_fts5 ./bench [-run transport,get,...] [-rounds 7] [-memories 100000]
//	    [-driver mattn,modernc] [-json FILE] [-profile FILE]
//
// docs/benchmarks.md describes the rows.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/loci-memory/loci/bench/corpus"
)

// A bench is one run.
type bench struct {
	ctx      context.Context
	rounds   int
	memories int
	drivers  []string
	postgres string // address of a server; empty is none

	formerBinary string // another build, for the row former

	profile    string
	cache      string // folder of binaries and loaded databases, for later runs
	scratch    string // folder of this run
	report     report
	corpus     *corpus.Corpus
	stub       *embedderStub // an embedder that costs nothing, and
	silentStub *embedderStub // one that never responds
	running    []*process    // of the current row
}

// rows are in the order in which they run. memory loads the data that later rows use.
var rows = []struct {
	name string
	run  func(*bench) error
}{
	{"transport", (*bench).transport}, {"get", (*bench).get}, {"tools", (*bench).tools},
	{"create", (*bench).create},
	{"lifecycle", (*bench).lifecycle}, {"list", (*bench).list}, {"memory", (*bench).memory},
	{"search", (*bench).search}, {"tenants", (*bench).tenants}, {"workspaces", (*bench).manyWorkspaces},
	{"member", (*bench).member}, {"token", (*bench).token}, {"status", (*bench).status}, {"plan", (*bench).plan},
	{"deletion", (*bench).deletion},
	{"start", (*bench).startup}, {"semantic", (*bench).semantic}, {"ingest", (*bench).ingest},
	{"events", (*bench).events}, {"finalize", (*bench).finalize}, {"hook", (*bench).hook}, {"acp", (*bench).acp},
	{"streams", (*bench).idleStreams}, {"broadcast", (*bench).broadcast}, {"delivery", (*bench).delivery},
	{"send", (*bench).sendScale},
	{"upload", (*bench).upload}, {"download", (*bench).download}, {"transfers", (*bench).transfers},
	{"attached", (*bench).attached},
	{"extraction", (*bench).extraction}, {"former", (*bench).former},
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		exit(serveProfiled(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "transport" {
		exit(serveTransport(os.Args[2], len(os.Args) > 3))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "soak" {
		exit(runSoak(ctx, os.Args[2:]))
	}
	exit(run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) (err error) {
	b := &bench{ctx: ctx, report: report{rounds: series{}}}
	only := flag.String("run", "", "rows to run, with commas: transport, get, tools, create, lifecycle, list, memory, "+
		"search, tenants, workspaces, member, token, status, plan, deletion, start, semantic, ingest, events, "+
		"finalize, hook, acp, streams, broadcast, delivery, send, upload, download, transfers, attached, "+
		"extraction, former; default: all")
	drivers := flag.String("driver", "mattn,modernc",
		"drivers of SQLite, with commas; the thresholds are for the first")
	out := flag.String("json", "", "file for the raw figures of every round")
	flag.IntVar(&b.rounds, "rounds", 7, "rounds")
	flag.IntVar(&b.memories, "memories", 100_000, "memories in the workspace that is searched")
	flag.StringVar(&b.postgres, "postgres", os.Getenv("LOCI_TEST_PG18"),
		"address of a PostgreSQL server; empty leaves its figures out")
	flag.StringVar(&b.formerBinary, "former", "", "another build of Loci, for the row former; empty leaves it out")
	flag.StringVar(&b.profile, "profile", "", "file for CPU profiles of Loci, one for each server that is started: "+
		"FILE.1, FILE.2 ...")
	flag.Parse()
	b.drivers = strings.Split(*drivers, ",")
	if _, err := processCPU(os.Getpid()); err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	if b.stub, err = newStub(false); err != nil {
		return err
	}
	if b.silentStub, err = newStub(true); err != nil {
		return err
	}
	if err := b.build(); err != nil {
		return err
	}
	all, others := cpuTicks()
	if err := b.runRows(*only); err != nil {
		return err
	}
	nowAll, nowOthers := cpuTicks()
	b.report.otherWork = max(0, (nowOthers-others)/(nowAll-all))
	b.report.print(os.Stdout)
	return b.report.save(*out, b)
}

// runRows runs the rows with the given names, or all.
func (b *bench) runRows(only string) error {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		wanted[name] = name != ""
	}
	for _, r := range rows {
		if only != "" && !wanted[r.name] {
			continue
		}
		delete(wanted, r.name)
		fmt.Fprintln(os.Stderr, "bench:", r.name)
		err := r.run(b)
		for _, p := range b.running {
			p.stop()
		}
		if b.running = nil; err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	if delete(wanted, ""); only != "" && len(wanted) > 0 {
		return fmt.Errorf("there is no row %s", slices.Sorted(maps.Keys(wanted)))
	}
	return nil
}
