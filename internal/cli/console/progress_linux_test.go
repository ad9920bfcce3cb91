package console

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci/internal/testenv"
)

// newTestTerminal returns a terminal and a function that returns the text which was written to it.
func newTestTerminal(t *testing.T, columns uint16) (terminal *os.File, written func() string) {
	t.Helper()
	screen := testenv.Must(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	testenv.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	testenv.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return terminal, func() string {
		// The kernel passes text on later: all of it is there when the mark is.
		const mark = "\x1f"
		_ = testenv.Must(terminal.WriteString(mark))(t)
		text, b := "", make([]byte, 4096)
		for !strings.HasSuffix(text, mark) {
			n := testenv.Must(screen.Read(b))(t)
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
	testenv.Equal(t, written(), "")
	p.Print("checked 10 rows")
	p.Print("checked 20 rows")
	testenv.Equal(t, written(), "\r\x1b[Kchecked 10 ")
	p.lastDraw = time.Now().Add(-time.Second)
	p.Update(3, 3)
	p.Clear()
	testenv.Equal(t, written(), "\r\x1b[K[##########\r\x1b[K")
}
