package main

import (
	"path/filepath"
	"strconv"
)

// small is how many memories the rows have that do not search.
func (b *bench) small() int { return min(10_000, b.memories) }

// prose700 returns a database of memories of 700 bytes.
func (b *bench) prose700() (*place, error) {
	return b.place("prose-"+strconv.Itoa(b.small()), "", b.fillWith(b.small(), b.texts.prose))
}

// A pair is Loci and a floor, each on its own copy of a database.
type pair struct {
	loci, floor *process
	at          *place // Loci's
}

// pairUp starts both sides.
func (b *bench) pairUp(from *place, driver string, floor ...string) (*pair, error) {
	p := &pair{}
	at, err := b.copy(from, "loci-"+floor[0]+"-"+driver)
	if err != nil {
		return p, err
	}
	below, err := b.copy(from, "floor-"+floor[0]+"-"+driver)
	if err != nil {
		return p, err
	}
	p.at = at
	if p.loci, err = b.serve(driver, at, true); err != nil {
		return p, err
	}
	p.floor, err = b.start(nil, append(append([]string{b.binary("floor", driver)}, floor...), "-db", filepath.Join(below.Dir, "loci.db"))...)
	return p, err
}

// get compares a read over HTTP with a handler that has one prepared read.
func (b *bench) get() error {
	from, err := b.prose700()
	if err != nil {
		return err
	}
	var sides []contender
	for _, driver := range b.drivers {
		p, err := b.pairUp(from, driver, "get")
		if err != nil {
			return err
		}
		read := func(i int) request {
			return newRequest("GET", "/v1/memories/"+p.at.IDs[source(ofReads, i).IntN(len(p.at.IDs))], p.at.Key, nil)
		}
		for _, side := range []struct {
			name string
			p    *process
		}{{"floor", p.floor}, {"loci", p.loci}} {
			sides = append(sides, contender{side.name + " " + driver, func(int) (map[string]float64, error) { return side.p.spend(connections, turnOf, read) }})
		}
	}
	s, err := b.interleave(turns, sides...)
	if err != nil {
		return err
	}
	b.report.keep("get", s)
	b.compare("get", "read of 700 bytes over HTTP", "us CPU", s, "cpu", 2)
	return nil
}

// compare adds a line for each driver, and one that compares the second driver
// with the first.
func (b *bench) compare(row, what, unit string, s series, figure string, bar float64) {
	for i, driver := range b.drivers {
		l := s.beside(line{Row: row, What: what + ", " + driver, Unit: unit}, "loci "+driver+" "+figure, "floor "+driver+" "+figure)
		if i == 0 {
			l.Bar = bar
		}
		b.report.add(l)
	}
	b.compareDrivers(row, what, unit, s, figure)
}

// compareDrivers holds the second driver to 2.5 times the first.
func (b *bench) compareDrivers(row, what, unit string, s series, figure string) {
	if len(b.drivers) < 2 {
		return
	}
	first, second := b.drivers[0], b.drivers[1]
	b.report.add(s.beside(line{Row: row, What: what + ", " + second + " over " + first, Unit: unit, Bar: 2.5}, "loci "+second+" "+figure, "loci "+first+" "+figure))
}
