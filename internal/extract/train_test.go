package extract

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"testing"
)

type label struct{ Type, From, Key string }
type turn struct {
	ID                         int
	Previous, Prompt, Response string
	Want                       []label
}
type sample struct {
	v    vector
	y    float64
	w    float64
	id   int
	resp bool
	text string
	kind string
	dev  bool
	ph   []string
}

func loadSamples(t *testing.T, path string, w float64, dev bool) (out []sample, labels map[bool]int) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	labels = map[bool]int{}
	for line := range strings.Lines(string(data)) {
		var tn turn
		if err := json.Unmarshal([]byte(line), &tn); err != nil {
			t.Fatal(err)
		}
		for _, l := range tn.Want {
			labels[l.From == "response"]++
		}
		for _, resp := range []bool{false, true} {
			text, from := tn.Prompt, "prompt"
			if resp {
				text, from = tn.Response, "response"
			}
			vis := visibleLines(text)
			if !resp && givesUp(vis) {
				continue
			}
			list := sentences(vis)
			in := newSetting(tn.Prompt, resp, len(list))
			for n, s := range list {
				v := featuresOf(s, n, in)
				y, kind := 0., ""
				for _, l := range tn.Want {
					if l.From == from && strings.Contains(strings.ToLower(s.text), strings.ToLower(l.Key)) {
						y, kind = 1, l.Type
					}
				}
				if v == nil {
					if y > 0 {
						fmt.Println("VETO", tn.ID, s.text)
					}
					continue
				}
				var ph []string
				eachPhrase(normalize(s.text), func(p string) { ph = append(ph, p) })
				out = append(out, sample{ph: ph, v: v, y: y, w: w, id: tn.ID, resp: resp, text: s.text, kind: kind, dev: dev})
			}
		}
	}
	return
}

func train(ss []sample, l2 float64) (w []float64, b float64) {
	n := len(cues) + int(shapes)
	w = make([]float64, n)
	g := make([]float64, n)
	vel := make([]float64, n+1)
	for it := 0; it < 400; it++ {
		gb, tot := 0., 0.
		for i := range g {
			g[i] = 0
		}
		for _, s := range ss {
			z := b
			for i, is := range s.v {
				if is {
					z += w[i]
				}
			}
			d := (1/(1+math.Exp(-z)) - s.y) * s.w
			tot += s.w
			gb += d
			for i, is := range s.v {
				if is {
					g[i] += d
				}
			}
		}
		lr := 0.02
		for i := range w {
			vel[i] = .9*vel[i] - lr*(g[i]+l2*w[i])
			w[i] += vel[i]
		}
		vel[n] = .9*vel[n] - lr*gb
		b += vel[n]
		_ = tot
	}
	return
}

func dot(w []float64, b float64, v vector) float64 {
	for i, is := range v {
		if is {
			b += w[i]
		}
	}
	return b
}

func TestTrain(t *testing.T) {
	dev, _ := loadSamples(t, "testdata/blind_development.jsonl", 1, true)
	old, _ := loadSamples(t, "testdata/turns.jsonl", .5, false)
	for _, l2 := range []float64{1, 2, 4} {
		all := []struct {
			p float64
			s sample
		}{}
		for _, resp := range []bool{false, true} {
			for fold := 0; fold < 10; fold++ {
				var tr []sample
				for _, s := range dev {
					if s.resp == resp && s.id%10 != fold {
						tr = append(tr, s)
					}
				}
				for _, s := range old {
					if s.resp == resp {
						tr = append(tr, s)
					}
				}
				w, b := train(tr, l2)
				seen := map[string]bool{}
				for _, s := range append(dev, old...) {
					if s.id%10 != fold || !s.dev {
						for _, p := range s.ph {
							seen[p] = true
						}
					}
				}
				for _, s := range dev {
					if s.resp == resp && s.id%10 == fold {
						if os.Getenv("STRICT") != "" {
							v := append(vector(nil), s.v...)
							for i := range cues {
								v[i] = false
							}
							for _, p := range s.ph {
								if seen[p] {
									for _, c := range lexicon[p].cues {
										v[c] = true
									}
								}
							}
							s.v = v
						}
						all = append(all, struct {
							p float64
							s sample
						}{dot(w, b, s.v), s})
					}
				}
			}
		}
		sort.Slice(all, func(i, j int) bool { return all[i].p > all[j].p })
		for _, part := range []string{"all", "prompt", "response"} {
			n, tp, pos := 0, 0, 0
			line := ""
			for _, a := range all {
				if part == "all" || (part == "response") == a.s.resp {
					pos += int(a.s.y)
				}
			}
			next := .1
			for _, a := range all {
				if part != "all" && (part == "response") != a.s.resp {
					continue
				}
				n++
				tp += int(a.s.y)
				if r := float64(tp) / float64(pos); r >= next {
					line += fmt.Sprintf(" %.1f:%.2f@%.1f", next, float64(tp)/float64(n), a.p)
					next += .1
				}
			}
			fmt.Printf("l2 %g %-8s n=%d pos=%d %s\n", l2, part, n, pos, line)
		}
		if l2 == 2 && os.Getenv("MISS") != "" {
			for i, a := range all {
				if a.s.y == 0 && i < 130 || a.s.y == 1 && i > 80 {
					fmt.Printf("%4d %5.1f %v %s%s %d %s\n", i, a.p, a.s.y, map[bool]string{true: "R", false: "P"}[a.s.resp], a.s.kind, a.s.id, a.s.text)
				}
			}
		}
	}
	if os.Getenv("W") != "" {
		for _, resp := range []bool{false, true} {
			var tr []sample
			for _, s := range append(dev, old...) {
				if s.resp == resp {
					tr = append(tr, s)
				}
			}
			w, b := train(tr, 2)
			fmt.Println("bias", b)
			for i, n := range featureNames() {
				cp, cn := 0, 0
				for _, s := range tr {
					if s.v[i] {
						if s.y > 0 {
							cp++
						} else {
							cn++
						}
					}
				}
				fmt.Printf("%v %-16s %5.2f  +%d -%d\n", resp, n, w[i], cp, cn)
			}
		}
	}
}
