package cli

import (
	"bytes"
	"testing"
)

func TestABarFitsItsRoom(t *testing.T) {
	t.Parallel()
	b := &bar{what: "a\x1b[2Jset: loading"}
	for room, want := range map[int]string{
		80: "[##########....................] 1/3 a[2Jset: loading",
		34: "[##########....................] 1",
		0:  "",
	} {
		if got := b.line(1, 3, room); got != want {
			t.Errorf("in %d columns: %q", room, got)
		}
	}
	wide := &bar{what: "日本語"}
	if got := wide.line(3, 3, 40); got != "[##############################] 3/3 日" {
		t.Errorf("wide characters: %q", got)
	}
}

func TestABarIsForTerminalsAlone(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	b := &bar{p: &program{err: &said}, what: "set"}
	b.tell(1, 2)
	b.end()
	if said.Len() > 0 {
		t.Errorf("a file gets %q", said.String())
	}
}
