package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/capture/spool"
)

const (
	logName = "hook.log"
	// maxLog bounds the log: a full one becomes the old one.
	maxLog = 64 << 10
)

// A logFile is the log of the command.
type logFile struct {
	dir string
	now func() time.Time
}

// add writes one line about an error: the agent, the kind of event, and the kind of error. An error's own text may hold
// what a person wrote, so it is not written.
func (l logFile) add(agent loci.Adapter, event loci.EventType, err error) {
	if err == nil || errors.Is(err, spool.ErrWait) || l.dir == "" {
		return
	}
	if !slices.Contains(loci.Adapters, agent) {
		agent = "-"
	}
	if event == "" {
		event = "-"
	}
	line := fmt.Sprintf("%s %s %s: %s\n", l.now().UTC().Format(time.RFC3339), agent, event, kindOf(err))
	path := filepath.Join(l.dir, logName)
	if os.MkdirAll(l.dir, 0o700) != nil {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".old")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line)
	_ = f.Close()
}

// kindOf names an error without its text.
func kindOf(err error) string {
	for _, known := range []error{capture.ErrTooLarge, capture.ErrPayload, capture.ErrNoAdapter, spool.ErrBusy,
		errNoPayload, errSlow, errNoHome, errPanic, errMissed, errFlags} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "no answer in time"
	}
	if e, ok := errors.AsType[*loci.Error](err); ok {
		return string(e.Code)
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return "failed"
}
