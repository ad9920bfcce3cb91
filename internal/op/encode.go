package op

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
)

// A Created output says whether something was made: REST answers 201 then.
type Created interface{ Created() bool }

// A Tagged output has an entity tag.
type Tagged interface{ ETag() string }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// marshal writes v as JSON and leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

const okTrue = `{"ok":true`

// Encode writes the output of an operation as every door shows it: one JSON
// object that begins with "ok": true.
func Encode(out any) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	b.WriteString(okTrue)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	done := bytes.Clone(b.Bytes()[:b.Len()-1])
	if rest := done[len(okTrue):]; len(rest) > 2 {
		rest[0] = ','
		return done, nil
	}
	return append(done[:len(okTrue)], '}'), nil
}

// Decode reads what Encode wrote into a value of the type of out.
func Decode(data []byte, out any) error {
	if reflect.TypeOf(out).Elem().NumField() == 0 {
		return nil
	}
	return json.Unmarshal(data, out)
}
