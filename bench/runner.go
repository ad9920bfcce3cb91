package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/relevance"
)

// A row compares sides in rounds.
type row struct {
	name  string
	turns int // of each side in a round: several where a request takes microseconds
	sides func(b *bench) []side
	lines []line
}

// figures are the results of a turn by measure.
type figures map[string]float64

// A side runs turns. Its figures have the side's name before theirs.
type side struct {
	name string
	run  func(turn int) figures
}

// A load is a kind of request, which a number of clients send n times in a turn.
type load struct {
	name       string
	clients, n int
	request    func(at *fixture, i int) request
}

// A variant is a server of a comparison: Loci with an engine, or a floor with its arguments.
type variant struct {
	name, engine string
	floor        []string
}

// versus returns a floor, and Loci on every engine of this run.
func (b *bench) versus(floor ...string) []variant {
	list, others := []variant{{"floor", b.drivers[0], floor}, {"loci", b.drivers[0], nil}}, slices.Clone(b.drivers[1:])
	if b.postgres != "" {
		others = append(others, "postgres")
	}
	if b.former != "" {
		others = append(others, "former")
	}
	for _, engine := range others {
		list = append(list, variant{engine, engine, nil})
	}
	return list
}

// overFloor returns the lines of a comparison with a floor, and those of the other engines with the first.
func overFloor(what, figure string, most float64) []line {
	first := over(what+", over the floor", "loci "+figure, "floor "+figure, most)
	return append([]line{first}, overFirst(what, figure)...)
}

// overFirst returns the lines of the other engines over the first, and of Loci over a former build.
func overFirst(what, figure string) []line {
	return []line{over(what+", modernc over mattn", "modernc "+figure, "loci "+figure, 2.5),
		over(what+", PostgreSQL over SQLite", "postgres "+figure, "loci "+figure, 2),
		over(what+", over the former build", "loci "+figure, "former "+figure, 1.25)}
}

// compare starts a server for each variant on a copy of a dataset. It returns a side for each load and server.
func (b *bench) compare(d dataset, variants []variant, loads ...load) (sides []side) {
	sides = make([]side, len(variants)*len(loads))
	for n, v := range variants {
		at, p := b.serveVariant(d, v)
		for i, s := range p.sides(v.name, at, loads...) {
			sides[i*len(variants)+n] = s
		}
	}
	return sides
}

// sides returns a side of one server for each load.
func (p *process) sides(name string, at *fixture, loads ...load) (sides []side) {
	for _, l := range loads {
		sides = append(sides, side{strings.TrimSpace(name + " " + l.name), func(turn int) figures {
			return p.measure(l.clients, l.n, func(i int) request { return l.request(at, turn*l.n+i) })
		}})
	}
	return sides
}

// runRow runs the turns of every side in every round, one side after another. So other load on the machine affects all
// sides alike. One round before them warms up and is not counted.
func (b *bench) runRow(r row) {
	defer b.endRow()
	s, sides := series{}, r.sides(b)
	for turn := range r.turns * (b.rounds + 1) {
		for _, c := range sides {
			check(b.ctx.Err())
			var f figures
			if err := attempt(func() { f = c.run(turn) }); err != nil {
				check(fmt.Errorf("%s: %w", c.name, err))
			}
			if round := turn/r.turns - 1; round >= 0 {
				s.add(round, c.name, f, r.turns)
			}
		}
	}
	for key, v := range s {
		b.report.rounds[r.name+": "+key] = v
	}
	for _, l := range r.lines {
		l.Row = r.name
		b.report.add(l, s)
	}
}

// endRow stops the servers of a row.
func (b *bench) endRow() {
	for _, f := range slices.Backward(b.atEnd) {
		f()
	}
	b.atEnd = nil
}

// A series holds the figures of every round, by side and measure.
type series map[string][]float64

// add adds a turn's part to the mean of a round.
func (s series) add(round int, name string, f figures, turns int) {
	for what, v := range f {
		key := name + " " + what
		if len(s[key]) == round {
			s[key] = append(s[key], 0)
		}
		s[key][round] += v / float64(turns)
	}
}

// ratios returns the ratio of two figures in each round.
func (s series) ratios(of, over string) []float64 {
	list := make([]float64, len(s[of]))
	for i, v := range s[of] {
		list[i] = v / s[over][i]
	}
	return list
}

func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// A line of the report is a figure of a side, that of another if there is one, and the threshold of figure or ratio.
type line struct {
	Row            string  `json:"row"`
	What           string  `json:"what"`
	Unit           string  `json:"unit"`
	Of             string  `json:"of"` // side and measure
	Over           string  `json:"over,omitzero"`
	Loci           float64 `json:"loci"`
	Floor          float64 `json:"floor,omitzero"`
	Ratio          float64 `json:"ratio,omitzero"` // the median of the rounds' ratios
	Lowest         float64 `json:"lowest"`         // of the rounds' ratios, or figures
	Highest        float64 `json:"highest"`
	Threshold      float64 `json:"bar,omitzero"`   // 0: no threshold
	HigherIsBetter bool    `json:"least,omitzero"` // the threshold is the least, not the most
	Passed         bool    `json:"passed"`
}

// over returns a line of the ratio of two figures.
func over(what, of, over string, most float64) line {
	return line{What: what, Of: of, Over: over, Threshold: most}
}

// value returns a line of one figure.
func value(what, of string, most float64) line { return line{What: what, Of: of, Threshold: most} }

// atLeast makes the threshold the least.
func (l line) atLeast() line { l.HigherIsBetter = true; return l }

// units has those of the measures, by the last word of a figure. Others are microseconds.
var units = map[string]string{"MB": "MB", "KB": "KB", "ms": "ms", "reads": "1/s", "rate": "1/s", "cpu": "us CPU",
	"each": "us CPU", "each99": "us CPU"}

type report struct {
	lines     []line
	rounds    series
	otherWork float64 // the share of the processors that other work used
}

// add computes and checks a line. It leaves out a line whose sides did not run.
func (r *report) add(l line, s series) {
	if len(s[l.Of]) == 0 || l.Over != "" && len(s[l.Over]) == 0 {
		return
	}
	judged := s[l.Of]
	l.Unit, l.Loci = cmp.Or(units[l.Of[strings.LastIndex(l.Of, " ")+1:]], "us"), quantile(judged, .5)
	if l.Over != "" {
		judged = s.ratios(l.Of, l.Over)
		l.Floor, l.Ratio = quantile(s[l.Over], .5), quantile(judged, .5)
	}
	l.Lowest, l.Highest = slices.Min(judged), slices.Max(judged)
	middle := quantile(judged, .5)
	l.Passed = l.Threshold == 0 || middle == l.Threshold || l.HigherIsBetter == (middle > l.Threshold)
	r.lines = append(r.lines, l)
	fmt.Fprintln(os.Stderr, "  "+l.String())
}

// String returns the line as a row of a table in Markdown.
func (l line) String() string {
	floor, ratio, threshold, verdict := "", "", "", ""
	if l.Over != "" {
		floor, ratio = formatFigure(l.Floor), formatFigure(l.Ratio)
	}
	if l.Threshold != 0 {
		if threshold, verdict = formatFigure(l.Threshold), "ok"; !l.Passed {
			verdict = "**missed**"
		}
		if l.HigherIsBetter {
			threshold = "at least " + threshold
		}
		if l.Over == "" {
			threshold += " " + l.Unit
		}
	}
	return "| " + strings.Join([]string{l.Row, l.What, l.Unit, formatFigure(l.Loci), floor, ratio,
		formatFigure(l.Lowest) + " to " + formatFigure(l.Highest), threshold, verdict}, " | ") + " |"
}

// formatFigure shows three digits.
func formatFigure(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func (r *report) print() {
	fmt.Println("| row | what | unit | Loci | floor | ratio | rounds | bar | |\n|---|---|---|---|---|---|---|---|---|")
	for _, l := range r.lines {
		fmt.Println(l)
	}
	fmt.Printf("\nOther work took %.0f %% of the processors meanwhile.\n", 100*r.otherWork)
}

// raw returns lines and rounds as JSON.
func (b *bench) raw() []byte {
	return must(json.MarshalIndent(map[string]any{
		"made": time.Now().UTC().Format(time.DateTime), "go": runtime.Version(), "processors": runtime.NumCPU(),
		"machine": relevance.Processor(), "others": b.report.otherWork, "rounds": b.rounds, "memories": b.memories,
		"texts": b.corpus.origin, "lines": b.report.lines, "figures": b.report.rounds,
	}, "", "\t"))
}
