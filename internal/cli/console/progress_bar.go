package console

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A ProgressBar shows on a terminal the progress of a task. Elsewhere it shows nothing.
type ProgressBar struct {
	console *Console
	label   string

	mu       sync.Mutex
	lastDraw time.Time
}

// ProgressBar returns a bar with a label.
func (c *Console) ProgressBar(label string) *ProgressBar {
	return &ProgressBar{console: c, label: label}
}

// barWidth is the width of the bar itself.
const barWidth = 30

// Update redraws the bar, at most ten times a second.
func (b *ProgressBar) Update(done, total int) {
	width, _ := b.console.Terminal(b.console.Err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if width == 0 || total == 0 || time.Since(b.lastDraw) < 100*time.Millisecond {
		return
	}
	b.lastDraw = time.Now()
	fmt.Fprint(b.console.Err, "\r\x1b[K"+b.render(done, total, width-1))
}

// render returns the bar with its figures and label, cut to the width.
func (b *ProgressBar) render(done, total, room int) string {
	full := barWidth * done / total
	text := fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total,
		StripControl(b.label, false))
	return ansi.Truncate(text, room, "")
}

// Clear removes the bar.
func (b *ProgressBar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lastDraw.IsZero() {
		fmt.Fprint(b.console.Err, "\r\x1b[K")
	}
}

// UpdateBytes redraws the bar in MiB.
func (b *ProgressBar) UpdateBytes(done, total int64) { b.Update(int(done>>20), int(total>>20)) }
