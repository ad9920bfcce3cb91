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

	"github.com/loci-memory/loci/internal/retrieval"
)

// A series holds the figures of every round, by the side and what was measured.
type series map[string][]float64

// A contender is one side of a row. One run is one turn of its; the figures
// are told by what they measure.
type contender struct {
	name string
	run  func(turn int) (map[string]float64, error)
}

// interleave gives every side some turns in every round, one after another,
// and takes the mean of them. Whatever else the machine does meets all sides
// so. A round before them, which is not counted, warms all up.
func (b *bench) interleave(turns int, list ...contender) (series, error) {
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
				s.count(round, c.name, figures, turns)
			}
		}
	}
	return s, nil
}

// count adds a turn's part to the figures of a round.
func (s series) count(round int, name string, figures map[string]float64, turns int) {
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

// over returns the middle of the ratios that two sides had in each round.
func (s series) over(key, floor string) float64 {
	ratios := make([]float64, len(s[key]))
	for i, v := range s[key] {
		ratios[i] = v / s[floor][i]
	}
	return quantile(ratios, .5)
}

// beside makes a line of two sides. With least, the ratio is that of the floor
// to Loci.
func (s series) beside(l line, key, floor string) line {
	l.Loci, l.Floor, l.Ratio = s.median(key), s.median(floor), s.over(key, floor)
	if l.Least {
		l.Ratio = s.over(floor, key)
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

// A line of the report: a figure of Loci's, that of the floor where there is
// one, and the bar that the figure or their ratio is held to.
type line struct {
	Row    string  `json:"row"`
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Loci   float64 `json:"loci"`
	Floor  float64 `json:"floor,omitzero"`
	Ratio  float64 `json:"ratio,omitzero"` // the median of the rounds' ratios
	Bar    float64 `json:"bar,omitzero"`   // 0: shown beside, held to nothing
	Value  bool    `json:"value,omitzero"` // the bar is for the figure, not for the ratio
	Least  bool    `json:"least,omitzero"` // the bar is the least, not the most
	Passed bool    `json:"passed"`
}

type report struct {
	lines  []line
	rounds series
	others float64 // the part of the processors that other work had
}

// add judges a line.
func (r *report) add(l line) {
	judged := l.Ratio
	if l.Value {
		judged = l.Loci
	}
	l.Passed = l.Bar == 0 || !l.Least && judged <= l.Bar || l.Least && judged >= l.Bar
	r.lines = append(r.lines, l)
	fmt.Fprintln(os.Stderr, "  "+l.String())
}

// keep keeps the figures of every round for the file of raw results.
func (r *report) keep(row string, s series) {
	if r.rounds == nil {
		r.rounds = series{}
	}
	for key, v := range s {
		r.rounds[row+": "+key] = v
	}
}

// String is the line as a row of a table in Markdown.
func (l line) String() string {
	floor, ratio, bar, verdict := "", "", "", ""
	if l.Floor != 0 {
		floor, ratio = figure(l.Floor), figure(l.Ratio)
	}
	if l.Bar != 0 {
		if bar, verdict = figure(l.Bar), "ok"; !l.Passed {
			verdict = "**over**"
		}
		if l.Least {
			bar = "at least " + bar
		}
		if l.Value {
			bar += " " + l.Unit
		}
	}
	return "| " + strings.Join([]string{l.Row, l.What, l.Unit, figure(l.Loci), floor, ratio, bar, verdict}, " | ") + " |"
}

// figure shows three digits.
func figure(v float64) string {
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
	fmt.Fprintf(w, "\nOther work took %.0f %% of the processors meanwhile.\n", 100*r.others)
}

// save writes lines and rounds as JSON.
func (r *report) save(path string, b *bench) error {
	if path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(map[string]any{
		"made": time.Now().UTC().Format(time.DateTime), "go": runtime.Version(), "processors": runtime.NumCPU(), "machine": retrieval.Processor(), "others": r.others,
		"rounds": b.rounds, "memories": b.memories, "texts": b.texts.from, "lines": r.lines, "figures": r.rounds,
	}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
