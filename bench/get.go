package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/loci-memory/loci/bench/corpus"
)

// smallSize returns the number of memories for the rows without searches.
func (b *bench) smallSize() int { return min(10_000, b.memories) }

// proseFixture returns a database of memories of 700 bytes.
func (b *bench) proseFixture() (*fixture, error) {
	return b.fixture("prose-"+strconv.Itoa(b.smallSize()), "", b.loader(b.smallSize(), b.corpus.Prose))
}

// A serverPair is Loci and a floor, each on its own copy of a database.
type serverPair struct {
	loci, floor *process
	at          *fixture // Loci's
}

// startPair starts both sides.
func (b *bench) startPair(from *fixture, driver string, floor ...string) (*serverPair, error) {
	p := &serverPair{}
	floorFixture, err := b.copyFixture(from, "floor-"+floor[0]+"-"+driver)
	if err != nil {
		return p, err
	}
	if p.at, p.loci, err = b.serveCopy(from, driver, "loci-"+floor[0]+"-"+driver); err != nil {
		return p, err
	}
	p.floor, err = b.start(nil, append(append([]string{b.binary("floor", driver)}, floor...), "-db",
		filepath.Join(floorFixture.Dir, "loci.db"))...)
	return p, err
}

// sides returns the sides of a pair; run runs a turn of one process.
func (p *serverPair) sides(driver string, run func(p *process, turn int) (figures, error)) []benchSide {
	return []benchSide{
		{"floor " + driver, func(turn int) (figures, error) { return run(p.floor, turn) }},
		{"loci " + driver, func(turn int) (figures, error) { return run(p.loci, turn) }},
	}
}

// get compares a read over HTTP with a handler that has one prepared read, and a read over MCP with one over REST.
func (b *bench) get() error {
	from, err := b.proseFixture()
	if err != nil {
		return err
	}
	var sides []benchSide
	for _, driver := range b.drivers {
		p, err := b.startPair(from, driver, "get")
		if err != nil {
			return err
		}
		id := func(i int) string { return p.at.IDs[corpus.Rand(i).IntN(len(p.at.IDs))] }
		read := func(i int) request { return newRequest("GET", "/v1/memories/"+id(i), p.at.Key, nil) }
		sides = append(sides, p.sides(driver, func(p *process, _ int) (figures, error) {
			return p.cpuPerRequest(connections, requestsPerTurn, read)
		})...)
		call := func(i int) request { return toolRequest(p.at.Key, "memory_get", map[string]string{"memoryId": id(i)}) }
		if err := p.loci.checkTool(call(0), id(0)); err != nil {
			return err
		}
		sides = append(sides, benchSide{"mcp " + driver, func(int) (figures, error) {
			return p.loci.cpuPerRequest(connections, requestsPerTurn, call)
		}})
	}
	s, err := b.interleave("get", turnsPerRound, sides...)
	if err != nil {
		return err
	}
	b.compare("get", "read of 700 bytes over HTTP", "us CPU", s, "cpu", 2.2)
	driver := b.drivers[0]
	b.report.add(s.ratioLine(line{Row: "get", What: "memory_get over MCP, over REST, " + driver, Unit: "us CPU",
		Threshold: 1.5}, "mcp "+driver+" cpu", "loci "+driver+" cpu"))
	return nil
}

// toolRequest calls a tool over MCP.
func toolRequest(key, name string, arguments any) request {
	return newRequest("POST", "/mcp", key, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": name, "arguments": arguments}})
}

// compare adds a line for each driver, and one that compares the second driver with the first.
func (b *bench) compare(row, what, unit string, s series, figure string, threshold float64) {
	for i, driver := range b.drivers {
		l := s.ratioLine(line{Row: row, What: what + ", " + driver, Unit: unit}, "loci "+driver+" "+figure,
			"floor "+driver+" "+figure)
		if i == 0 {
			l.Threshold = threshold
		}
		b.report.add(l)
	}
	b.compareDrivers(row, what, unit, s, figure)
}

// compareDrivers limits the second driver to 2.5 times the first.
func (b *bench) compareDrivers(row, what, unit string, s series, figure string) {
	if len(b.drivers) < 2 {
		return
	}
	first, second := b.drivers[0], b.drivers[1]
	b.report.add(s.ratioLine(line{Row: row, What: what + ", " + second + " over " + first, Unit: unit, Threshold: 2.5},
		"loci "+second+" "+figure, "loci "+first+" "+figure))
}

// checkTool reports an error if the result of a tool call does not hold a text: a failed call has status 200 too.
func (p *process) checkTool(call request, text string) error {
	body, err := p.send(call)
	if err == nil && (!bytes.Contains(body, []byte(text)) || bytes.Contains(body, []byte(`"isError":true`))) {
		err = fmt.Errorf("tool call: %.300s", body)
	}
	return err
}
