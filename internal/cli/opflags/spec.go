package opflags

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A spec is one value of a flag set. It is a pflag.Value.
type spec struct {
	path        []string // in the JSON object: "source", "name"
	flag        string
	jsonType    string // of the value or of an item, as in JSON Schema
	list        bool
	enum        []string
	format      string
	isLine      bool // - reads one line
	isID        bool // of a record
	description string
	bounds      string // of an integer, in brackets
	required    bool
	values      []string
}

// Set adds a value; a list accepts several values, each with items between commas.
func (s *spec) Set(text string) error {
	if !s.list {
		s.values = nil
	}
	s.values = append(s.values, text)
	return nil
}

func (s *spec) String() string { return strings.Join(s.values, ",") }

// Type returns the name of the value's type on the help page.
func (s *spec) Type() string {
	if s.list && s.jsonType != "object" {
		return s.jsonType + "s"
	}
	if s.jsonType == "object" {
		return "json"
	}
	if s.jsonType == "boolean" {
		return "bool" // the type name for which the help page shows no value
	}
	return s.jsonType
}

// items returns the given values, one by one. An empty text is an empty list.
func (s *spec) items() (items []string) {
	for _, text := range s.values {
		switch {
		case !s.list:
			items = append(items, text)
		case text != "":
			items = append(items, op.SplitList(text)...)
		}
	}
	return items
}

// accepts reports whether a text can be a value of this type. An empty text may mean no value.
func (s *spec) accepts(text string) bool {
	if text == "" {
		return true
	}
	if s.enum != nil {
		return slices.Contains(s.enum, text)
	}
	var v any
	known := json.Unmarshal([]byte(text), &v) == nil
	switch _, number := v.(float64); s.jsonType {
	case "integer", "number":
		return known && number
	case "boolean":
		return text == "true" || text == "false"
	}
	return true
}

// jsonValue returns the given value as JSON has it. An empty list is given as "".
func (s *spec) jsonValue(stdin Stdin) (any, error) {
	if s.jsonType == "object" {
		return jsonScalar("object", s.values[len(s.values)-1])
	}
	if !s.list {
		text := s.values[0]
		if text == "-" && s.jsonType == "string" && s.enum == nil {
			read := stdin.ReadStdin
			if s.isLine {
				read = stdin.ReadLine
			}
			var err error
			if text, err = read(); err != nil {
				return nil, err
			}
		}
		return jsonScalar(s.jsonType, text)
	}
	items := []any{}
	for _, item := range s.items() {
		v, err := jsonScalar(s.jsonType, item)
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
