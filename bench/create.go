package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/search"
)

// Sizes of a round of creates.
const (
	together = 1600 // by 32 clients
	alone    = 150  // by one
)

// create compares creates with a floor that writes the same rows.
func (b *bench) create() error {
	from, err := b.prose700()
	if err != nil {
		return err
	}
	if err := b.createTogether(from); err != nil {
		return err
	}
	if err := b.createAlone(from); err != nil {
		return err
	}
	return b.syncs(from)
}

func (b *bench) createTogether(from *place) error {
	var sides []contender
	for _, driver := range b.drivers {
		p, err := b.pairUp(from, driver, "create", "-blob", strconv.Itoa(b.document()))
		if err != nil {
			return err
		}
		for _, side := range []struct {
			name string
			p    *process
		}{{"floor", p.floor}, {"loci", p.loci}} {
			sides = append(sides, contender{side.name + " " + driver, func(turn int) (map[string]float64, error) {
				return side.p.spend(32, together, b.fresh(from, turn, together))
			}})
		}
	}
	s, err := b.interleave(2, sides...)
	if err != nil {
		return err
	}
	b.report.keep("create", s)
	b.compare("create", "700 bytes, 32 clients, folding counted", "us CPU", s, "cpu", 2)
	return nil
}

// fresh makes requests with texts that no other turn has.
func (b *bench) fresh(p *place, turn, n int) func(i int) request {
	return func(i int) request { return create(p, b.texts.prose(1_000_000+turn*n+i)) }
}

// document returns the usual size of a document in the log of changes.
func (b *bench) document() int {
	const n = 200
	sum := 0
	for i := range n {
		text := b.texts.prose(i)
		sum += len(search.Encoded(text[:32], text))
	}
	return sum / n
}

// createAlone compares the time of one client's create with that of the disk.
func (b *bench) createAlone(from *place) error {
	at, err := b.copy(from, "alone")
	if err != nil {
		return err
	}
	p, err := b.serve(b.drivers[0], at, false)
	if err != nil {
		return err
	}
	s, err := b.interleave(1,
		contender{"fsync", func(int) (map[string]float64, error) { return b.disk(alone) }},
		contender{"loci", func(turn int) (map[string]float64, error) {
			_, wall, err := p.queue(alone, b.fresh(at, 1000+turn, alone))
			return map[string]float64{"p50": quantile(wall, .5) / 1000}, err
		}})
	if err != nil {
		return err
	}
	b.report.keep("create alone", s)
	loci, disk := s.median("loci p50"), s.median("fsync p50")
	b.report.add(line{Row: "create", What: "one client, p50", Unit: "ms", Loci: loci, Floor: disk, Ratio: loci / disk})
	b.report.add(line{Row: "create", What: "one client, p50 beyond an fdatasync's p50", Unit: "ms", Loci: loci - disk, Bar: 1, Value: true})
	return nil
}

// disk writes pages into a file that is there already, each with an fdatasync.
func (b *bench) disk(n int) (map[string]float64, error) {
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
		began := time.Now()
		if _, err := f.WriteAt(make([]byte, 4096), int64(i)*4096); err != nil {
			return nil, err
		}
		if err := through(f); err != nil {
			return nil, err
		}
		wall = append(wall, float64(time.Since(began).Nanoseconds())/1e6)
	}
	return map[string]float64{"p50": quantile(wall, .5)}, nil
}

var synced = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?:fdatasync|fsync)$`)

// syncs counts what is written through to the disk, checkpoints and the end of
// the server included, by running it under strace.
func (b *bench) syncs(from *place) error {
	at, err := b.copy(from, "traced")
	if err != nil {
		return err
	}
	counts := filepath.Join(b.scratch, "counts")
	p, err := b.start([]string{"LOCI_RATE_LIMIT=0"}, append([]string{"strace", "-f", "--seccomp-bpf", "-qq", "-c", "-U", "time,total-time,avg-time,calls,name", "-e", "trace=fdatasync,fsync", "-o", counts,
		b.binary("loci", b.drivers[0]), "serve", "--listen", "127.0.0.1:0"}, at.flags()...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "  no strace, no count of fdatasync:", err)
		return nil
	}
	if p.pid, err = child(p.pid); err != nil {
		return err
	}
	err = p.send(32, together, b.fresh(at, 2000, together), nil)
	p.stop()
	if err != nil {
		return err
	}
	said, err := os.ReadFile(counts)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, found := range synced.FindAllStringSubmatch(string(said), -1) {
		n, _ := strconv.ParseFloat(found[1], 64) // digits
		sum += n
	}
	b.report.add(line{Row: "create", What: "fdatasync and fsync for one create, 32 clients", Unit: "calls", Loci: sum / together, Bar: .25, Value: true})
	return nil
}

// child returns the process that another one started.
func child(pid int) (int, error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.Fields(string(list) + " 0")[0])
}
