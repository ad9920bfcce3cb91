package extract_test

import (
	"fmt"
	"os"
	"sort"
	"testing"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/extract/extracttest"
)

type scored struct {
	z    float64
	s    sample
	kind string
}

func TestCV(t *testing.T) {
	dev := samplesOf(t, "testdata/blind_development.jsonl", 1)
	old := samplesOf(t, "testdata/turns.jsonl", .5)
	for _, strict := range []bool{false, true} {
		var all []scored
		right, kinds := 0, 0
		for fold := 0; fold < 10; fold++ {
			tr := append([]sample{}, old...)
			seen := map[string]bool{}
			for _, s := range dev {
				if s.turn%10 != fold {
					tr = append(tr, s)
				}
			}
			for _, s := range tr {
				extract.EachPhrase(s.Words, func(p string, _ []int) { seen[p] = true })
			}
			cols := fitAll(tr)
			for _, s := range dev {
				if s.turn%10 != fold {
					continue
				}
				if strict {
					f := append([]bool{}, s.Features...)
					for i := 0; i < extract.CueCount; i++ {
						f[i] = false
					}
					extract.EachPhrase(s.Words, func(p string, cs []int) {
						if seen[p] {
							for _, c := range cs {
								f[c] = true
							}
						}
					})
					s.Features = f
				}
				c := cols[0]
				if s.isResponse {
					c = cols[1]
				}
				best, kind := -99., ""
				for n, k := range []string{"decision", "preference", "fact", "task"} {
					if z := sum(cols[n+2], s.Features); z > best {
						best, kind = z, k
					}
				}
				if s.kind != "" {
					kinds++
					if s.kind == kind {
						right++
					}
				}
				all = append(all, scored{sum(c, s.Features), s, kind})
			}
		}
		sort.SliceStable(all, func(i, j int) bool { return all[i].z > all[j].z })
		for _, part := range []string{"all", "prompt", "response"} {
			n, tp, pos := 0, 0, 0
			line := ""
			for _, a := range all {
				if (part == "all" || (part == "response") == a.s.isResponse) && a.s.kind != "" {
					pos++
				}
			}
			next := .1
			for _, a := range all {
				if part != "all" && (part == "response") != a.s.isResponse {
					continue
				}
				n++
				if a.s.kind != "" {
					tp++
				}
				if r := float64(tp) / float64(pos); r >= next {
					line += fmt.Sprintf(" %.1f:%.2f@%.1f", next, float64(tp)/float64(n), a.z)
					next += .1
				}
			}
			fmt.Printf("CV strict=%v %-8s n=%d pos=%d %s\n", strict, part, n, pos, line)
		}
		fmt.Println("CV kinds", right, kinds)
		if os.Getenv("MISS") != "" && strict == (os.Getenv("MISS") == "s") {
			for i, a := range all {
				if a.s.kind == "" && a.z > -1 || a.s.kind != "" && a.z < .5 {
					fmt.Printf("M %4d %5.1f %s %-10s %d %s\n", i, a.z, map[bool]string{true: "R", false: "P"}[a.s.isResponse], a.s.kind, a.s.turn, a.s.Text)
				}
			}
		}
	}
}

func TestZ(t *testing.T) {
	for _, f := range []string{"turns", "blind_development"} {
		turns, err := extracttest.Load("testdata/" + f + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		sc, misses := extracttest.Measure(turns)
		for k, s := range sc {
			fmt.Printf("Z %s %q p %.2f r %.2f %+v\n", f, k, s.Precision(), s.Recall(), s)
		}
		if os.Getenv("ZMISS") == f {
			for _, m := range misses {
				fmt.Println("ZM", m)
			}
		}
	}
}
