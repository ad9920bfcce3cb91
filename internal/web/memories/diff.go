package memories

import (
	"slices"
	"strings"
)

// A change is a run of lines that two texts share, or that one of them has alone.
type change struct {
	Kind string // "", del or ins
	Text string
}

// maxCells bounds the table of a comparison. Texts that differ in more lines are shown as replaced.
const maxCells = 1 << 22

// differences returns the lines of two texts in the order of the second, by a longest common subsequence.
func differences(before, after string) (all []change) {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var run []string
	end := func() {
		if len(run) > 0 {
			all[len(all)-1].Text, run = strings.Join(run, ""), nil
		}
	}
	add := func(kind string, lines ...string) {
		if len(lines) == 0 {
			return
		}
		if len(all) == 0 || all[len(all)-1].Kind != kind {
			end()
			all = append(all, change{Kind: kind})
		}
		run = append(run, lines...)
	}
	add("", a[:head]...)
	from, to := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(from)*len(to) > maxCells {
		add("del", from...)
		add("ins", to...)
	} else {
		compare(from, to, add)
	}
	add("", a[len(a)-tail:]...)
	end()
	return all
}

// compare calls add with the lines of both texts.
func compare(a, b []string, add func(kind string, lines ...string)) {
	width := len(b) + 1
	longest := make([]int32, (len(a)+1)*width) // of the rests from a line of each on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			add("", a[i])
			i, j = i+1, j+1
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			add("del", a[i])
			i++
		default:
			add("ins", b[j])
			j++
		}
	}
	add("del", a[i:]...)
	add("ins", b[j:]...)
}
