package op

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A metadataReader reads one loci.Metadata and counts what it holds.
type metadataReader struct {
	*strictjson.Scanner
	field        string // its name, for messages
	size, values int
}

// readObject reads an object that is the depth-th one inside another.
func (r *metadataReader) readObject(depth int) (loci.Metadata, error) {
	if err := r.checkDepth(depth); err != nil {
		return nil, err
	}
	object := loci.Metadata{}
	err := r.Members(func(name string) error {
		if _, ok := object[name]; ok {
			return invalidf("%s.%s is given twice", r.field, strictjson.Shorten(name))
		}
		err := r.count(name)
		if err == nil {
			object[name], err = r.readValue(depth)
		}
		return err
	})
	return object, err
}

func (r *metadataReader) readList(depth int) ([]any, error) {
	if err := r.checkDepth(depth); err != nil {
		return nil, err
	}
	list := []any{}
	err := r.Items(']', func() error {
		value, err := r.readValue(depth)
		list = append(list, value)
		return err
	})
	return list, err
}

// readValue reads a value within an object or list of that depth.
func (r *metadataReader) readValue(depth int) (any, error) {
	if r.values++; r.values > loci.MaxMetadataValues {
		return nil, invalidf("%s must have at most %d values", r.field, loci.MaxMetadataValues)
	}
	switch c := r.Next(); {
	case c == '{':
		object, err := r.readObject(depth + 1)
		return map[string]any(object), err
	case c == '[':
		return r.readList(depth + 1)
	case c == '"':
		text, err := r.String(r.field)
		if err == nil {
			err = r.count(text)
		}
		return text, err
	case c == '-' || '0' <= c && c <= '9':
		return r.readNumber()
	case r.Literal("true"):
		return true, nil
	case r.Literal("false"):
		return false, nil
	case r.Literal("null"):
		return nil, nil
	}
	return nil, r.SyntaxError()
}

func (r *metadataReader) readNumber() (any, error) {
	text, err := r.Number()
	if err != nil {
		return nil, err
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return nil, invalidf("%s holds a number that is out of range", r.field)
	}
	return json.Number(text), r.count(text)
}

func (r *metadataReader) checkDepth(depth int) error {
	if depth > loci.MaxMetadataDepth {
		return invalidf("%s must be nested at most %d levels deep", r.field, loci.MaxMetadataDepth)
	}
	return nil
}

func (r *metadataReader) count(text string) error {
	if r.size += len(text); r.size > loci.MaxMetadataBytes {
		return invalidf("%s must have at most %d bytes of names and values", r.field, loci.MaxMetadataBytes)
	}
	return nil
}
