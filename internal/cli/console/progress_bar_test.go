package console

import (
	"bytes"
	"testing"
)

func TestProgressBarFitsWidth(t *testing.T) {
	t.Parallel()
	b := &ProgressBar{label: "a\x1b[2Jset: loading"}
	for room, want := range map[int]string{
		80: "[##########....................] 1/3 a[2Jset: loading",
		34: "[##########....................] 1",
		0:  "",
	} {
		if got := b.render(1, 3, room); got != want {
			t.Errorf("in %d columns: %q", room, got)
		}
	}
	wide := &ProgressBar{label: "日本語"}
	if got := wide.render(3, 3, 40); got != "[##############################] 3/3 日" {
		t.Errorf("wide characters: %q", got)
	}
}

func TestProgressBarIsHiddenWithoutTerminal(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	b := (&Console{Err: &said}).ProgressBar("set")
	b.Update(1, 2)
	b.Clear()
	if said.Len() > 0 {
		t.Errorf("a file gets %q", said.String())
	}
}
