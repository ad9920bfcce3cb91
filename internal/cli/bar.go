package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A bar shows on a terminal how much of a work is done. Elsewhere it shows
// nothing.
type bar struct {
	p    *program
	what string

	mu    sync.Mutex
	drawn time.Time
}

// barWidth is that of the bar itself.
const barWidth = 30

// tell draws the bar anew, at most ten times a second.
func (b *bar) tell(done, total int) {
	width, _ := b.p.terminal(b.p.err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if width == 0 || total == 0 || time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = time.Now()
	fmt.Fprint(b.p.err, "\r\x1b[K"+b.line(done, total, width-1))
}

// line is the bar with its figures and what they are of, as far as there is room.
func (b *bar) line(done, total, room int) string {
	full := barWidth * done / total
	text := fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total, clean(b.what, false))
	return ansi.Truncate(text, room, "")
}

// end takes the bar away.
func (b *bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.drawn.IsZero() {
		fmt.Fprint(b.p.err, "\r\x1b[K")
	}
}
