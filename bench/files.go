package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sizes of the rows about files.
const (
	largeFile        = 100 << 20
	smallFile        = 1 << 10
	filesAtOnce      = 8
	downloadsPerTurn = 4
	memoriesWithFile = 20
	readsAlone       = 1000 // without uploads
)

// startFilePair starts Loci, and a floor with a folder of files.
func (b *bench) startFilePair(row string) (*serverPair, error) {
	from, err := b.proseFixture()
	if err != nil {
		return nil, err
	}
	p := &serverPair{}
	if p.at, p.loci, err = b.serveCopy(from, b.drivers[0], row); err != nil {
		return nil, err
	}
	dir := filepath.Join(b.scratch, row+"-floor")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p.floor, err = b.start(nil, b.binary("floor", b.drivers[0]), "files", "-dir", dir)
	return p, err
}

// upload compares the upload of a file with a handler that stores its body.
func (b *bench) upload() error {
	pair, err := b.startFilePair("upload")
	if err != nil {
		return err
	}
	measure := func(p *process, path string) (figures, error) {
		before := p.waitIdle()
		err := p.put(path, largeFile)
		return figures{"cpu": (p.waitIdle() - before) / 1000}, err
	}
	s, err := b.interleave("upload", 1, benchSide{"floor", func(turn int) (figures, error) {
		return measure(pair.floor, "/"+strconv.Itoa(turn))
	}}, benchSide{"loci", func(turn int) (figures, error) {
		id, path, err := pair.loci.announce(pair.at.Key, pair.at.IDs[turn], largeFile)
		if err != nil {
			return nil, err
		}
		f, err := measure(pair.loci, path)
		return f, errors.Join(err, pair.loci.confirm(pair.at.Key, id))
	}})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "upload", What: "100 MiB to the folder, over a handler that hashes and " +
			"stores its body", Unit: "ms CPU", Threshold: 1.3}, "loci cpu", "floor cpu"))
	}
	return err
}

// download compares the download of a file with http.ServeFile.
func (b *bench) download() error {
	pair, err := b.startFilePair("download")
	if err != nil {
		return err
	}
	if err := pair.floor.put("/file", largeFile); err != nil {
		return err
	}
	id, err := pair.loci.addFile(pair.at.Key, pair.at.IDs[0], largeFile)
	if err != nil {
		return err
	}
	measure := func(p *process, path string) (figures, error) {
		before := p.waitIdle()
		for range downloadsPerTurn {
			if err := p.fetch(path, largeFile); err != nil {
				return nil, err
			}
		}
		return figures{"cpu": (p.waitIdle() - before) / downloadsPerTurn / 1000}, nil
	}
	s, err := b.interleave("download", 1, benchSide{"floor", func(int) (figures, error) {
		return measure(pair.floor, "/file")
	}}, benchSide{"loci", func(int) (figures, error) {
		path, err := pair.loci.downloadPath(pair.at.Key, id)
		if err != nil {
			return nil, err
		}
		return measure(pair.loci, path)
	}})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "download", What: "100 MiB of the folder, over http.ServeFile",
			Unit: "ms CPU", Threshold: 1.3}, "loci cpu", "floor cpu"))
	}
	return err
}

// transfers measures the memory of uploads and downloads at once, and the latency of reads beside uploads.
func (b *bench) transfers() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	s, err := b.interleave("transfers", 1, benchSide{"loci", func(turn int) (figures, error) {
		return b.measureTransfers(from, turn)
	}})
	if err == nil {
		b.report.add(line{Row: "transfers", What: "anonymous memory of 8 uploads and 8 downloads of 100 MiB at once",
			Unit: "MiB", Loci: s.median("loci memory"), Threshold: 64, IsAbsolute: true})
		b.report.add(s.ratioLine(line{Row: "transfers", What: "memory.get beside 8 uploads, over without, p99, " +
			"one client", Unit: "ms"}, "loci beside", "loci alone"))
	}
	return err
}

// measureTransfers starts a server for one turn: memory that a turn before has used would not count.
func (b *bench) measureTransfers(from *fixture, turn int) (figures, error) {
	at, p, err := b.serveCopy(from, b.drivers[0], "transfers-"+strconv.Itoa(turn))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(at.Dir)
	defer p.stop()
	id, err := p.addFile(at.Key, at.IDs[0], largeFile) // it warms up, as the download does
	if err != nil {
		return nil, err
	}
	path, err := p.downloadPath(at.Key, id)
	if err != nil {
		return nil, err
	}
	if err := p.fetch(path, largeFile); err != nil {
		return nil, err
	}
	p.waitIdle()
	memory, err := p.growth(func() error {
		return allAtOnce(2*filesAtOnce, func(i int) error {
			if i%2 == 0 {
				return p.fetch(path, largeFile)
			}
			_, err := p.addFile(at.Key, at.IDs[i], largeFile)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	p.waitIdle()
	alone, err := p.readUntil(at, afterCalls(readsAlone))
	if err != nil {
		return nil, err
	}
	beside, err := p.readBesideUploads(at)
	return figures{"memory": memory, "alone": quantile(alone, .99), "beside": quantile(beside, .99)}, err
}

// allAtOnce calls f for 0 to n-1 at once.
func allAtOnce(n int, f func(i int) error) error {
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { failed[i] = f(i) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// growth returns the mebibytes of anonymous memory that a function adds at most to the server.
func (p *process) growth(f func() error) (float64, error) {
	before, err := p.anonymousMemory()
	if err != nil {
		return 0, err
	}
	most, ended := before, make(chan error, 1)
	go func() { ended <- f() }()
	for {
		select {
		case err := <-ended:
			return (most - before) / (1 << 20), err
		case <-time.After(5 * time.Millisecond):
			now, err := p.anonymousMemory()
			if err != nil {
				return 0, err
			}
			most = max(most, now)
		}
	}
}

// afterCalls returns a function that is false for so many calls.
func afterCalls(n int) func() bool {
	return func() bool { n--; return n < 0 }
}

// readUntil reads one memory after another until ended is true. It returns the wall times in milliseconds.
func (p *process) readUntil(at *fixture, ended func() bool) (wall []float64, err error) {
	w, err := p.dial()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	for i := 0; !ended(); i++ {
		start := time.Now()
		if _, err := w.do(newRequest("GET", "/v1/memories/"+at.IDs[i%len(at.IDs)], at.Key, nil)); err != nil {
			return nil, err
		}
		wall = append(wall, float64(time.Since(start).Nanoseconds())/1e6)
	}
	return wall, nil
}

// readBesideUploads reads memories while files are uploaded.
func (p *process) readBesideUploads(at *fixture) ([]float64, error) {
	uploads := make(chan error, 1)
	go func() {
		uploads <- allAtOnce(filesAtOnce, func(i int) error {
			_, err := p.addFile(at.Key, at.IDs[i], largeFile)
			return err
		})
	}()
	wall, err := p.readUntil(at, func() bool { return len(uploads) > 0 })
	return wall, errors.Join(err, <-uploads)
}

// attached compares reads of memories with a file and without.
func (b *bench) attached() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	at, p, err := b.serveCopy(from, b.drivers[0], "attached", "LOCI_METRICS_LISTEN="+metrics)
	if err != nil {
		return err
	}
	for _, id := range at.IDs[:memoriesWithFile] {
		if _, err := p.addFile(at.Key, id, smallFile); err != nil {
			return err
		}
	}
	read := func(ids []string) turnFunc {
		return func(int) (figures, error) {
			before, err := statements(metrics)
			if err != nil {
				return nil, err
			}
			f, err := p.cpuPerRequest(connections, requestsPerTurn, func(i int) request {
				return newRequest("GET", "/v1/memories/"+ids[i%len(ids)], at.Key, nil)
			})
			if err != nil {
				return nil, err
			}
			after, err := statements(metrics)
			// Jobs and the metrics send some statements meanwhile.
			f["statements"] = math.Round((after - before) / requestsPerTurn)
			return f, err
		}
	}
	s, err := b.interleave("attached", turnsPerRound,
		benchSide{"without", read(at.IDs[memoriesWithFile : 2*memoriesWithFile])},
		benchSide{"with", read(at.IDs[:memoriesWithFile])})
	if err == nil {
		b.report.add(s.ratioLine(line{Row: "attached", What: "memory.get of a memory with a file, over one without",
			Unit: "us CPU", Threshold: 1.25}, "with cpu", "without cpu"))
		b.report.add(s.ratioLine(line{Row: "attached", What: "the same, statements", Threshold: 1}, "with statements",
			"without statements"))
	}
	return err
}

// freeAddress returns an address at which nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// statements returns how many statements a server has sent, from its metrics.
func statements(metrics string) (float64, error) {
	res, err := http.Get("http://" + metrics + "/metrics") // #nosec: an address of the bench
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(text), "\nloci_statements_total ")
	if !ok {
		return 0, fmt.Errorf("the metrics have no statements: %.300s", text)
	}
	number, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(number, 64)
}
