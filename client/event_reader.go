package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A serverEvent is one event of a stream of Server-Sent Events.
type serverEvent struct {
	name string // "message" if the stream gives none
	data []byte
}

// An eventReader parses an event stream (HTML, section 9.2.6).
type eventReader struct {
	in    *bufio.Reader
	limit int // the most bytes of an event, and of a line

	lastID string        // of the last complete event with an id
	retry  time.Duration // the last that the stream has asked for, or 0

	started bool   // the byte order mark was looked for
	afterCR bool   // the last line ended with CR: an LF belongs to it
	line    []byte // without its end
	data    []byte // of the event that is being read
	name    string
	id      string
}

// newEventReader returns a reader of a stream that continues after the event lastID, or "".
func newEventReader(in io.Reader, limit int, lastID string) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, 32<<10), limit: limit, lastID: lastID, id: lastID}
}

// maxKeptLine is the size of a buffer that is kept for the next line.
const maxKeptLine = 256 << 10

// An eventTooLargeError has the limit that an event exceeds.
type eventTooLargeError int

func (e eventTooLargeError) Error() string {
	return fmt.Sprintf("an event has more than %d MiB", int(e)>>20)
}

// next returns the next event with data. At the end of the stream an incomplete event is lost, and the error is io.EOF.
func (r *eventReader) next() (serverEvent, error) {
	for {
		if err := r.readLine(); err != nil {
			return serverEvent{}, err
		}
		if len(r.line) > 0 {
			if err := r.field(); err != nil {
				return serverEvent{}, err
			}
			continue
		}
		e := serverEvent{r.name, r.data}
		r.lastID, r.name, r.data = r.id, "", nil
		if cap(r.line) > maxKeptLine {
			r.line = nil
		}
		if len(e.data) == 0 {
			continue
		}
		e.data = e.data[:len(e.data)-1] // the LF behind the last line of data
		if e.name == "" {
			e.name = "message"
		}
		return e, nil
	}
}

// resume replaces the id of the last event.
func (r *eventReader) resume(id string) { r.id, r.lastID = id, id }

// field handles a line that is not empty.
func (r *eventReader) field() error {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) { // "" is a comment
	case "event":
		r.name = string(value)
	case "data":
		if len(r.data)+len(value) > r.limit {
			return eventTooLargeError(r.limit)
		}
		r.data = append(append(r.data, value...), '\n')
	case "id":
		if !bytes.ContainsRune(value, 0) {
			r.id = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
			r.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

// readLine reads the next line, which ends with LF, CR or CRLF. It does not wait for the byte after a CR.
func (r *eventReader) readLine() error {
	r.line = r.line[:0]
	for {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		chunk, _ := r.in.Peek(r.in.Buffered()) // it has the bytes
		skipped := 0
		if r.afterCR && chunk[0] == '\n' {
			skipped = 1
		}
		r.afterCR = false
		end := bytes.IndexAny(chunk[skipped:], "\r\n")
		part := chunk[skipped:]
		if end >= 0 {
			part = part[:end]
		}
		if len(r.line)+len(part) > r.limit+len("data: ") {
			return eventTooLargeError(r.limit)
		}
		r.line = append(r.line, part...)
		if end < 0 {
			_, _ = r.in.Discard(len(chunk))
			continue
		}
		r.afterCR = chunk[skipped+end] == '\r'
		_, _ = r.in.Discard(skipped + end + 1)
		if !r.started {
			r.started, r.line = true, bytes.TrimPrefix(r.line, []byte("\ufeff"))
		}
		return nil
	}
}
