package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/loci-memory/loci/internal/testenv"
)

// readEvents returns the events of a stream, as name|id|data, and the error at its end.
func readEvents(in io.Reader, limit int) (all []string, r *eventReader, err error) {
	r = newEventReader(in, limit, "")
	for {
		e, err := r.next()
		if err != nil {
			return all, r, err
		}
		all = append(all, fmt.Sprintf("%s|%s|%s", e.name, r.lastID, e.data))
	}
}

func TestEventReaderFollowsStandard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"event":                     {"data: x\n\n", []string{"message||x"}},
		"name and id":               {"event: a\nid: 1\ndata: x\n\n", []string{"a|1|x"}},
		"order of fields":           {"data: x\nid: 1\nevent: a\n\n", []string{"a|1|x"}},
		"CR":                        {"event: a\rdata: x\r\rdata: y\r\r", []string{"a||x", "message||y"}},
		"CRLF":                      {"event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []string{"a||x", "message||y"}},
		"mixed line ends":           {"data: x\r\n\ndata: y\r\r\n\n", []string{"message||x", "message||y"}},
		"several lines of data":     {"data: x\ndata:\ndata: y\n\n", []string{"message||x\n\ny"}},
		"one space":                 {"data:  x\n\ndata:y\n\n", []string{"message|| x", "message||y"}},
		"colons":                    {"data: a: b:\n\n", []string{"message||a: b:"}},
		"field without colon":       {"data\n\n", []string{"message||"}},
		"two empty lines of data":   {"data\ndata\n\n", []string{"message||\n"}},
		"comments":                  {": hi\n:\ndata: x\n: y\n\n", []string{"message||x"}},
		"unknown fields":            {"Data: a\ndatax: b\n data: c\ndata: x\nfoo\n\n", []string{"message||x"}},
		"no data":                   {"event: a\nid: 1\n\ndata: x\n\n", []string{"message|1|x"}},
		"id stays":                  {"id: 1\ndata: x\n\ndata: y\n\n", []string{"message|1|x", "message|1|y"}},
		"empty id":                  {"id: 1\ndata: x\n\nid\ndata: y\n\n", []string{"message|1|x", "message||y"}},
		"id with NUL":               {"id: 1\n\nid: 2\x00\ndata: y\n\n", []string{"message|1|y"}},
		"name does not stay":        {"event: a\ndata: x\n\ndata: y\n\n", []string{"a||x", "message||y"}},
		"last name counts":          {"event: a\nevent: b\ndata: x\n\n", []string{"b||x"}},
		"empty name":                {"event: a\nevent:\ndata: x\n\n", []string{"message||x"}},
		"byte order mark":           {"\ufeffdata: x\n\n", []string{"message||x"}},
		"byte order mark, later":    {"data: x\n\n\ufeffdata: y\n\n", []string{"message||x"}},
		"blank lines":               {"\n\n\r\r\n\ndata: x\n\n\n", []string{"message||x"}},
		"cut before the end":        {"data: x\n\nid: 2\ndata: y\n", []string{"message||x"}},
		"cut in a line":             {"data: x\n\ndata: y", []string{"message||x"}},
		"empty":                     {"", nil},
		"invalid UTF-8 in the data": {"data: \xff\n\n", []string{"message||\xff"}},
	} {
		for kind, in := range map[string]io.Reader{"whole": strings.NewReader(c.stream),
			"by byte": iotest.OneByteReader(strings.NewReader(c.stream))} {
			got, _, err := readEvents(in, 100)
			if err != io.EOF || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
				t.Errorf("%s, %s: %q %v, want %q", name, kind, got, err, c.want)
			}
		}
	}
}

func TestEventReaderKeepsIDOfCompleteEvents(t *testing.T) {
	t.Parallel()
	_, r, _ := readEvents(strings.NewReader("id: 1\ndata: x\n\nid: 2\ndata: y\n"), 100)
	testenv.Equal(t, r.lastID, "1", "the last id is")
	r = newEventReader(strings.NewReader("data: x\n\n"), 100, "0")
	if _, err := r.next(); err != nil || r.lastID != "0" {
		t.Errorf("without an id: %q %v", r.lastID, err)
	}
}

func TestEventReaderReadsRetry(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{"retry: 3000": 3 * time.Second, "retry:20": 20 * time.Millisecond,
		"retry: 1s": 0, "retry: -1": 0, "retry": 0, "retry: +1": 0, "retry: 99999999999999999999": 0} {
		if _, r, _ := readEvents(strings.NewReader(line+"\n"), 100); r.retry != want {
			t.Errorf("%s: %v", line, r.retry)
		}
	}
}

// TestEventReaderReturnsEventWithoutWaiting has a stream that stays open after the CR of the last line.
func TestEventReaderReturnsEventWithoutWaiting(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	go func() { _, _ = io.WriteString(out, "data: x\r\r") }() // the reader gets it
	if e, err := newEventReader(in, 100, "").next(); err != nil || string(e.data) != "x" {
		t.Errorf("%q %v", e.data, err)
	}
}

func TestEventReaderBoundsEvents(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	fits := "data: " + strings.Repeat("x", limit) + "\n\n"
	if got, _, err := readEvents(strings.NewReader(fits+fits), limit); err != io.EOF || len(got) != 2 ||
		len(got[1]) != limit+len("message||") {
		t.Errorf("%d events, %v", len(got), err)
	}
	for name, stream := range map[string]string{
		"a line":     "data: " + strings.Repeat("x", limit+1) + "\n\n",
		"lines":      strings.Repeat("data: "+strings.Repeat("x", limit/10)+"\n", 11),
		"no end":     strings.Repeat("x", 2*limit),
		"no newline": ":" + strings.Repeat("x", 2*limit),
	} {
		_, _, err := readEvents(strings.NewReader(stream), limit)
		if _, ok := errors.AsType[eventTooLargeError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// parseEvents is the grammar of the standard applied to a whole text.
func parseEvents(text string) (all []string) {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	var name, data, id, lastID string
	for _, line := range lines[:len(lines)-1] {
		if line == "" {
			if lastID = id; data != "" {
				if name == "" {
					name = "message"
				}
				all = append(all, fmt.Sprintf("%s|%s|%s", name, lastID, strings.TrimSuffix(data, "\n")))
			}
			name, data = "", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); field {
		case "event":
			name = value
		case "data":
			data += value + "\n"
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		}
	}
	return all
}

func FuzzEventReaderFollowsGrammar(f *testing.F) {
	for _, stream := range []string{"retry: 3000\nevent: ready\ndata: {}\n\n", "id: 1\r\ndata: x\r\ndata\r\r\n",
		"\ufeff: c\nid:\x00\ndata: y\n\n", "data\n\ndata\ndata\n\ndata:", "event: a\r\r\ndata:b\n\r", "\r\n\r\n"} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		want := parseEvents(string(stream))
		for _, in := range []io.Reader{strings.NewReader(string(stream)),
			iotest.OneByteReader(strings.NewReader(string(stream)))} {
			got, _, err := readEvents(in, len(stream))
			if err != io.EOF || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
				t.Errorf("%q: %q %v, want %q", stream, got, err, want)
			}
		}
	})
}
