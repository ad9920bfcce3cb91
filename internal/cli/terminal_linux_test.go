package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// typed returns a terminal at which a person has typed a text.
func typed(t *testing.T, text string) *os.File {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if _, err := screen.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return terminal
}

func TestLoginPromptsForKeyAtTerminal(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	for _, more := range [][]string{nil, {"--key", "-"}} {
		d.in = typed(t, fakeKey+"\n")
		if code := d.run(append([]string{"login", server.URL}, more...)...); code != 0 ||
			!strings.Contains(d.err.String(), "API key: ") || !strings.Contains(d.out.String(), "ada@example.org") {
			t.Errorf("%v: %d %s%s", more, code, d.out.String(), d.err.String())
		}
	}
}

func TestMCPCommandExplainsItselfAtTerminal(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.in = typed(t, "\x04")
	if code := d.run("mcp"); code != 0 || d.out.Len() != 0 || !strings.Contains(d.err.String(), "Ctrl-D") {
		t.Errorf("%d %q %q", code, d.out.String(), d.err.String())
	}
}
