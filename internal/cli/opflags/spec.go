package opflags

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/op"
)

// A spec is one field of an input, and its values on the command line. It is a pflag.Value.
type spec struct {
	op.Field
	parent string // the object that has the field, or ""
	flag   string
	values []string
	found  bool // the command finds a value that is not given
}

// Set adds a value; a list accepts several values, each with items between commas.
func (s *spec) Set(text string) error {
	if !s.List {
		s.values = nil
	}
	s.values = append(s.values, text)
	return nil
}

func (s *spec) String() string { return strings.Join(s.values, ",") }

// Type returns the name of the value's type on the help page.
func (s *spec) Type() string {
	if s.List && s.Field.Type != "object" {
		return s.Field.Type + "s"
	}
	if s.Field.Type == "object" {
		return "json"
	}
	if s.Field.Type == "boolean" {
		return "bool" // the type name for which the help page shows no value
	}
	return s.Field.Type
}

// items returns the given values, one by one. An empty text is an empty list.
func (s *spec) items() (items []string) {
	for _, text := range s.values {
		switch {
		case !s.List:
			items = append(items, text)
		case text != "":
			items = append(items, op.SplitList(text)...)
		}
	}
	return items
}

// jsonValue returns the given value as JSON has it. An empty list is given as "".
func (s *spec) jsonValue(ctx context.Context, stdin Stdin) (any, error) {
	if s.Field.Type == "object" {
		return jsonScalar("object", s.values[len(s.values)-1])
	}
	if !s.List {
		text := s.values[0]
		if text == "-" && s.Field.Type == "string" && s.Enum == nil {
			read := stdin.ReadStdin
			if s.isLine() {
				read = stdin.ReadLine
			}
			var err error
			if text, err = read(ctx); err != nil {
				return nil, err
			}
		}
		return jsonScalar(s.Field.Type, s.inTimeZone(text, time.Local))
	}
	items := []any{}
	for _, item := range s.items() {
		if strings.TrimSpace(item) == "" {
			return nil, command.UsageError(fmt.Sprintf("--%s %q has an empty item between commas", s.flag, s))
		}
		v, err := jsonScalar(s.Field.Type, item)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

// jsonScalar returns a text as a value of the type; a mismatched text stays a text, for the operation to reject.
func jsonScalar(kind, text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "an argument is not valid UTF-8")
	}
	if kind != "string" && json.Valid([]byte(text)) {
		return json.RawMessage(text), nil
	}
	return text, nil
}

// inTimeZone returns a date, or a time without an offset, as that of a time zone. Other values stay as they
// are.
func (s *spec) inTimeZone(text string, zone *time.Location) string {
	if !s.Instant {
		return text
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04",
		time.DateTime} {
		at, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if layout == time.DateOnly && s.EndOfDay {
			at = at.AddDate(0, 0, 1).Add(-time.Millisecond)
		}
		return at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return text
}
