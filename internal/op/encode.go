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

var bufferPool = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// marshal writes v as JSON and leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	b := bufferPool.Get().(*bytes.Buffer)
	defer bufferPool.Put(b)
	b.Reset()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

const okPrefix = `{"ok":true`

// Encode writes the output of an operation as every door shows it: one JSON
// object that begins with "ok": true.
func Encode(out any) ([]byte, error) {
	b := bufferPool.Get().(*bytes.Buffer)
	defer bufferPool.Put(b)
	b.Reset()
	if err := EncodeTo(b, out); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// EncodeTo appends what Encode returns to a buffer of the caller's.
func EncodeTo(b *bytes.Buffer, out any) error {
	b.WriteString(okPrefix)
	end := b.Len()
	v := reflect.ValueOf(out)
	text, err := encoderFor(v.Type())(b.AvailableBuffer(), v)
	if err != nil {
		return err
	}
	b.Write(text)
	if rest := b.Bytes()[end:]; len(rest) > 2 {
		rest[0] = ','
		return nil
	}
	b.Truncate(end)
	return b.WriteByte('}')
}
