package console

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/loci-memory/loci/internal/cli/format"
)

// A Progress shows the progress of a task in one line of a terminal. Elsewhere it shows nothing.
type Progress struct {
	console *Console
	label   string // of the bar

	mu       sync.Mutex
	lastDraw time.Time
}

// Progress returns the progress of a task. The label follows the bar.
func (c *Console) Progress(label string) *Progress {
	return &Progress{console: c, label: label}
}

// Print replaces the line, at most ten times a second.
func (p *Progress) Print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.lastDraw) < 100*time.Millisecond {
		return
	}
	if width, _ := p.console.Terminal(p.console.Err); width > 0 {
		p.lastDraw = time.Now()
		fmt.Fprint(p.console.Err, "\r\x1b[K"+ansi.Truncate(text, width-1, ""))
	}
}

// Clear removes the line.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.lastDraw.IsZero() {
		p.lastDraw = time.Time{}
		fmt.Fprint(p.console.Err, "\r\x1b[K")
	}
}

// barWidth is the width of the bar itself.
const barWidth = 30

// Update draws a bar with its figures and label.
func (p *Progress) Update(done, total int) {
	if total > 0 {
		p.Print(p.bar(done, total))
	}
}

// UpdateBytes draws the bar in MiB.
func (p *Progress) UpdateBytes(done, total int64) { p.Update(int(done>>20), int(total>>20)) }

func (p *Progress) bar(done, total int) string {
	full := barWidth * done / total
	return fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total,
		format.StripControl(p.label, false))
}
