package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/relevance"
)

// A series holds the figures of every round, by side and measure.
type series map[string][]float64

// figures are the results of a turn by measure.
type figures = map[string]float64

// A turnFunc runs one turn of a side.
type turnFunc func(turn int) (figures, error)

// A benchSide is one side of a row.
type benchSide struct {
	name string
	run  turnFunc
}

// A fixtureCopy is a side of a comparison: a server on a copy of a fixture, with further settings.
type fixtureCopy struct {
	name string
	from *fixture
	env  []string
}

// interleaveCopies starts the servers of a row, and interleaves the sides that measure returns for each of them.
func (b *bench) interleaveCopies(row string, measure func(name string, at *fixture, p *process) ([]benchSide, error),
	copies ...fixtureCopy) (series, error) {
	var sides []benchSide
	for _, c := range copies {
		at, p, err := b.serveCopy(c.from, b.drivers[0], row+"-"+c.name, c.env...)
		if err != nil {
			return nil, err
		}
		list, err := measure(c.name, at, p)
		if err != nil {
			return nil, err
		}
		sides = append(sides, list...)
	}
	return b.interleave(row, 1, sides...)
}

// interleave runs several turns of every side in every round, one after another, and computes their mean. So other load
// on the machine affects all sides alike. One round before them warms up and is not counted. The report keeps the
// figures under the name of the row.
func (b *bench) interleave(row string, turns int, list ...benchSide) (series, error) {
	s := series{}
	for turn := range turns * (b.rounds + 1) {
		for _, c := range list {
			if err := b.ctx.Err(); err != nil {
				return nil, err
			}
			figures, err := c.run(turn)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if round := turn/turns - 1; round >= 0 {
				s.accumulate(round, c.name, figures, turns)
			}
		}
	}
	for key, v := range s {
		b.report.rounds[row+": "+key] = v
	}
	return s, nil
}

// accumulate adds a turn's part to the figures of a round.
func (s series) accumulate(round int, name string, figures map[string]float64, turns int) {
	for what, v := range figures {
		key := name + " " + what
		if len(s[key]) == round {
			s[key] = append(s[key], 0)
		}
		s[key][round] += v / float64(turns)
	}
}

// median returns the middle figure of a side.
func (s series) median(key string) float64 { return quantile(s[key], .5) }

// medianRatio returns the middle of the ratios that two sides had in each round.
func (s series) medianRatio(key, floor string) float64 {
	ratios := make([]float64, len(s[key]))
	for i, v := range s[key] {
		ratios[i] = v / s[floor][i]
	}
	return quantile(ratios, .5)
}

// ratioLine returns a line of two sides. With HigherIsBetter, the ratio is that of the floor to Loci.
func (s series) ratioLine(l line, key, floor string) line {
	l.Loci, l.Floor, l.Ratio = s.median(key), s.median(floor), s.medianRatio(key, floor)
	if l.HigherIsBetter {
		l.Ratio = s.medianRatio(floor, key)
	}
	return l
}

func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// A line of the report is a figure of Loci, that of the floor if there is one, and the threshold of the figure or
// ratio.
type line struct {
	Row            string  `json:"row"`
	What           string  `json:"what"`
	Unit           string  `json:"unit"`
	Loci           float64 `json:"loci"`
	Floor          float64 `json:"floor,omitzero"`
	Ratio          float64 `json:"ratio,omitzero"` // the median of the rounds' ratios
	Threshold      float64 `json:"bar,omitzero"`   // 0: no threshold
	IsAbsolute     bool    `json:"value,omitzero"` // the threshold is for the figure, not for the ratio
	HigherIsBetter bool    `json:"least,omitzero"` // the threshold is the least, not the most
	Passed         bool    `json:"passed"`
}

type report struct {
	lines     []line
	rounds    series
	otherWork float64 // the share of the processors that other work used
}

// add checks and adds a line.
func (r *report) add(l line) {
	judged := l.Ratio
	if l.IsAbsolute {
		judged = l.Loci
	}
	l.Passed = l.Threshold == 0 || !l.HigherIsBetter && judged <= l.Threshold ||
		l.HigherIsBetter && judged >= l.Threshold
	r.lines = append(r.lines, l)
	fmt.Fprintln(os.Stderr, "  "+l.String())
}

// String returns the line as a row of a table in Markdown.
func (l line) String() string {
	floor, ratio, threshold, verdict := "", "", "", ""
	if l.Floor != 0 {
		floor, ratio = formatFigure(l.Floor), formatFigure(l.Ratio)
	}
	if l.Threshold != 0 {
		if threshold, verdict = formatFigure(l.Threshold), "ok"; !l.Passed {
			verdict = "**over**"
		}
		if l.HigherIsBetter {
			threshold = "at least " + threshold
		}
		if l.IsAbsolute {
			threshold += " " + l.Unit
		}
	}
	return "| " + strings.Join([]string{l.Row, l.What, l.Unit, formatFigure(l.Loci), floor, ratio, threshold, verdict},
		" | ") + " |"
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

func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, "| row | what | unit | Loci | floor | ratio | bar | |\n|---|---|---|---|---|---|---|---|")
	for _, l := range r.lines {
		fmt.Fprintln(w, l)
	}
	fmt.Fprintf(w, "\nOther work took %.0f %% of the processors meanwhile.\n", 100*r.otherWork)
}

// save writes lines and rounds as JSON.
func (r *report) save(path string, b *bench) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(map[string]any{
		"made": time.Now().UTC().Format(time.DateTime), "go": runtime.Version(), "processors": runtime.NumCPU(),
		"machine": relevance.Processor(), "others": r.otherWork,
		"rounds": b.rounds, "memories": b.memories, "texts": b.corpus.Origin, "lines": r.lines, "figures": r.rounds,
	}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
