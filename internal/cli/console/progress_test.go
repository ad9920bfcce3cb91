package console

import (
	"bytes"
	"testing"
)

func TestProgressBarStripsControlCharacters(t *testing.T) {
	t.Parallel()
	p := (&Console{}).Progress("a\x1b[2Jset: loading")
	if got := p.bar(1, 3); got != "[##########....................] 1/3 a␛[2Jset: loading" {
		t.Errorf("%q", got)
	}
}

func TestProgressIsHiddenWithoutTerminal(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := (&Console{Err: &said}).Progress("set")
	p.Update(1, 2)
	p.Print("1 read")
	p.Clear()
	if said.Len() > 0 {
		t.Errorf("a file gets %q", said.String())
	}
}
