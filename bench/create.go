package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/index"
)

// Sizes of a round of creates.
const (
	concurrentCreates = 1600 // by 32 clients
	serialCreates     = 150  // by one
)

// create compares creates with a floor that writes the same rows.
func (b *bench) create() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	if err := b.createConcurrent(from); err != nil {
		return err
	}
	if err := b.createSerial(from); err != nil {
		return err
	}
	return b.countSyncs(from)
}

func (b *bench) createConcurrent(from *fixture) error {
	var sides []benchSide
	for _, driver := range b.drivers {
		p, err := b.startPair(from, driver, "create", "-blob", strconv.Itoa(b.meanDocumentSize()))
		if err != nil {
			return err
		}
		sides = append(sides, p.sides(driver, func(p *process, turn int) (figures, error) {
			return p.cpuPerRequest(32, concurrentCreates, b.uniqueCreates(from, turn, concurrentCreates))
		})...)
	}
	s, err := b.interleave("create", 2, sides...)
	if err != nil {
		return err
	}
	b.compare("create", "700 bytes, 32 clients, flushes counted", "us CPU", s, "cpu", 2.5)
	return nil
}

// uniqueCreates makes requests with texts that no other turn has.
func (b *bench) uniqueCreates(p *fixture, turn, n int) func(i int) request {
	return func(i int) request { return createRequest(p, b.corpus.Prose(1_000_000+turn*n+i)) }
}

// meanDocumentSize returns the usual size of a document in the index log.
func (b *bench) meanDocumentSize() int {
	const n = 200
	sum := 0
	for i := range n {
		text := b.corpus.Prose(i)
		sum += len(index.AnalyzeEncoded(text[:32], text))
	}
	return sum / n
}

// createSerial compares the time of one client's create with that of the disk.
func (b *bench) createSerial(from *fixture) error {
	at, p, err := b.serveCopy(from, b.drivers[0], "alone")
	if err != nil {
		return err
	}
	s, err := b.interleave("create alone", 1,
		benchSide{"fsync", func(int) (figures, error) { return b.measureFsync(serialCreates) }},
		benchSide{"loci", func(turn int) (figures, error) {
			_, wall, err := p.latencies(serialCreates, b.uniqueCreates(at, 1000+turn, serialCreates))
			return figures{"p50": quantile(wall, .5)}, err
		}})
	if err != nil {
		return err
	}
	loci, disk := s.median("loci p50"), s.median("fsync p50")
	b.report.add(line{Row: "create", What: "one client, p50", Unit: "ms", Loci: loci, Floor: disk, Ratio: loci / disk})
	b.report.add(line{Row: "create", What: "one client, p50 beyond an fdatasync's p50", Unit: "ms", Loci: loci - disk,
		Threshold: 1, IsAbsolute: true})
	return nil
}

// measureFsync writes pages into an existing file, each with an fdatasync.
func (b *bench) measureFsync(n int) (figures, error) {
	f, err := os.Create(filepath.Join(b.scratch, "disk"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, n*4096)); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	var wall []float64
	for i := range n {
		start := time.Now()
		if _, err := f.WriteAt(make([]byte, 4096), int64(i)*4096); err != nil {
			return nil, err
		}
		if err := fdatasync(f); err != nil {
			return nil, err
		}
		wall = append(wall, float64(time.Since(start).Nanoseconds())/1e6)
	}
	return figures{"p50": quantile(wall, .5)}, nil
}

var straceLine = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?:fdatasync|fsync)$`)

// countSyncs counts the syncs to the disk, including checkpoints and shutdown, by running the server under strace.
func (b *bench) countSyncs(from *fixture) error {
	at, err := b.copyFixture(from, "traced")
	if err != nil {
		return err
	}
	counts := filepath.Join(b.scratch, "counts")
	p, err := b.start([]string{"LOCI_RATE_LIMIT=0"},
		append([]string{"strace", "-f", "--seccomp-bpf", "-qq", "-c", "-U", "time,total-time,avg-time,calls,name", "-e",
			"trace=fdatasync,fsync", "-o", counts,
			b.binary("loci", b.drivers[0]), "serve", "--listen", "127.0.0.1:0"}, at.flags()...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "  no strace, no count of fdatasync:", err)
		return nil
	}
	if p.pid, err = childPID(p.pid); err != nil {
		return err
	}
	err = p.sendAll(32, concurrentCreates, b.uniqueCreates(at, 2000, concurrentCreates), nil)
	p.stop()
	if err != nil {
		return err
	}
	output, err := os.ReadFile(counts)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, found := range straceLine.FindAllStringSubmatch(string(output), -1) {
		n, _ := strconv.ParseFloat(found[1], 64) // digits
		sum += n
	}
	b.report.add(line{Row: "create", What: "fdatasync and fsync for one create, 32 clients", Unit: "calls",
		Loci: sum / concurrentCreates, Threshold: .25, IsAbsolute: true})
	return nil
}

// childPID returns the process that another process has started.
func childPID(pid int) (int, error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.Fields(string(list) + " 0")[0])
}
