package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A progressBar shows on a terminal the progress of a task. Elsewhere it shows nothing.
type progressBar struct {
	p     *program
	label string

	mu       sync.Mutex
	lastDraw time.Time
}

// barWidth is the width of the bar itself.
const barWidth = 30

// update redraws the bar, at most ten times a second.
func (b *progressBar) update(done, total int) {
	width, _ := b.p.terminalInfo(b.p.err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if width == 0 || total == 0 || time.Since(b.lastDraw) < 100*time.Millisecond {
		return
	}
	b.lastDraw = time.Now()
	fmt.Fprint(b.p.err, "\r\x1b[K"+b.render(done, total, width-1))
}

// render returns the bar with its figures and label, cut to the width.
func (b *progressBar) render(done, total, room int) string {
	full := barWidth * done / total
	text := fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total,
		stripControl(b.label, false))
	return ansi.Truncate(text, room, "")
}

// clear removes the bar.
func (b *progressBar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lastDraw.IsZero() {
		fmt.Fprint(b.p.err, "\r\x1b[K")
	}
}
