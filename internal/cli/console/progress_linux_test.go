package console

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newTestTerminal returns a terminal and a function that returns the text which was written to it.
func newTestTerminal(t *testing.T, columns uint16) (terminal *os.File, written func() string) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return terminal, func() string {
		// The kernel passes text on later: all of it is there when the mark is.
		const mark = "\x1f"
		if _, err := terminal.WriteString(mark); err != nil {
			t.Fatal(err)
		}
		text, b := "", make([]byte, 4096)
		for !strings.HasSuffix(text, mark) {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b[:n])
		}
		return strings.TrimSuffix(text, mark)
	}
}

func TestProgressIsDrawnAtMostTenTimesASecond(t *testing.T) {
	t.Parallel()
	terminal, written := newTestTerminal(t, 12)
	p := (&Console{Err: terminal}).Progress("日本語")
	p.Clear()
	if got := written(); got != "" {
		t.Errorf("%q removes a line that was never drawn", got)
	}
	p.Print("checked 10 rows")
	p.Print("checked 20 rows")
	if got := written(); got != "\r\x1b[Kchecked 10 " {
		t.Errorf("two steps at once draw %q", got)
	}
	p.lastDraw = time.Now().Add(-time.Second)
	p.Update(3, 3)
	p.Clear()
	if got := written(); got != "\r\x1b[K[##########\r\x1b[K" {
		t.Errorf("the last step and the end draw %q", got)
	}
}
