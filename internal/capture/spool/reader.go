package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"

	"github.com/loci-memory/loci/internal/capture"
)

const eventsFile = "events.jsonl"

// A reader reads events from an offset on.
type reader struct {
	in     *bufio.Reader
	offset int64 // of the next line
	size   int64
}

// newReader returns a reader of a file. An offset behind its end is one of a file that was emptied: all is read.
func newReader(f *os.File, offset int64) *reader {
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	if offset > size || offset < 0 {
		offset = 0
	}
	return &reader{bufio.NewReaderSize(io.NewSectionReader(f, offset, size-offset), 64<<10), offset, size}
}

// next returns the next event and its line. It skips lines that are no event, such as torn ones. At the end it returns
// io.EOF.
func (r *reader) next() (e capture.Event, line []byte, err error) {
	for {
		line, err = r.in.ReadBytes('\n')
		r.offset += int64(len(line))
		if err != nil { // the last line without an end is torn
			return e, nil, err
		}
		e = capture.Event{}
		if json.Unmarshal(line, &e) == nil && e.Adapter != "" && e.ExternalID != "" && e.Input.EventID != "" {
			return e, bytes.Clone(line), nil
		}
	}
}
