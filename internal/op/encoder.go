package op

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/loci-memory/loci"
)

// An encoder appends a value of one type as encoding/json writes it with HTML
// not escaped, byte for byte. It is made once per type and knows what outputs
// are made of; whatever else there is, it leaves to encoding/json, which looks
// at every byte of a text by itself: a seventh of the CPU of a small answer.
type encoder func(b []byte, v reflect.Value) ([]byte, error)

var encoders sync.Map // encoder by reflect.Type

func encoderFor(t reflect.Type) encoder {
	if known, ok := encoders.Load(t); ok {
		return known.(encoder)
	}
	e := newEncoder(t)
	encoders.Store(t, e)
	return e
}

var (
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	isZeroerType      = reflect.TypeFor[interface{ IsZero() bool }]()
	plainJSONName     = regexp.MustCompile(`^[A-Za-z]\w*$`)
)

// marshalsItself reports whether a type writes itself, or a pointer to it does.
func marshalsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalerType) || p.Implements(textMarshalerType) || t == reflect.TypeFor[json.Number]()
}

func newEncoder(t reflect.Type) encoder {
	switch k := t.Kind(); {
	case t == timeType:
		return encodeTime
	case marshalsItself(t):
		return encodeAny
	case k == reflect.String:
		return func(b []byte, v reflect.Value) ([]byte, error) { return appendQuoted(b, v.String()) }
	case k == reflect.Bool:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendBool(b, v.Bool()), nil }
	case k == reflect.Int || k == reflect.Int64:
		return func(b []byte, v reflect.Value) ([]byte, error) { return strconv.AppendInt(b, v.Int(), 10), nil }
	case k == reflect.Float64:
		return encodeFloat
	case k == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return encodeList
	case k == reflect.Pointer:
		return encodePointer
	case k == reflect.Struct:
		if list, ok := structFieldsOf(t, map[string]bool{}); ok {
			return list.encode
		}
	}
	return encodeAny
}

// encodeAny leaves a value to encoding/json. One that has an address keeps it,
// because methods of a pointer count only there.
func encodeAny(b []byte, v reflect.Value) ([]byte, error) {
	if v.CanAddr() {
		v = v.Addr()
	}
	return appendStdlib(b, v.Interface())
}

// appendStdlib appends what encoding/json writes.
func appendStdlib(b []byte, v any) ([]byte, error) {
	text, err := marshal(v)
	return append(b, text...), err
}

func encodeTime(b []byte, v reflect.Value) ([]byte, error) {
	b, err := loci.Time(v.Int()).AppendText(append(b, '"'))
	return append(b, '"'), err
}

// encodeFloat writes the floats that need no exponent.
func encodeFloat(b []byte, v reflect.Value) ([]byte, error) {
	f := v.Float()
	if size := math.Abs(f); size != 0 && !(size >= 1e-6 && size < 1e21) {
		return encodeAny(b, v)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), nil
}

func encodeList(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	item := encoderFor(v.Type().Elem())
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = item(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func encodePointer(b []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	return encoderFor(v.Type().Elem())(b, v.Elem())
}

// structFields are the fields of a struct, in order.
type structFields []structField

type structField struct {
	prefix   string // the name with what stands before and after it: `,"name":`
	index    int
	omitZero bool         // where it is zero
	encode   encoder      // nil for an embedded struct
	embedded structFields // of that struct
}

// structFieldsOf returns the members of a struct, unless there is something about
// them that only encoding/json knows: a tag that no output has, or one name
// twice, in one struct and in another that is embedded.
func structFieldsOf(t reflect.Type, seen map[string]bool) (structFields, bool) {
	list := make(structFields, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch m := (structField{index: i, omitZero: option == "omitzero"}); {
		case f.Anonymous:
			var plain bool
			if name == "" && f.Type.Kind() == reflect.Struct {
				m.embedded, plain = structFieldsOf(f.Type, seen)
			}
			if !plain {
				return nil, false
			}
			list = append(list, m)
		case f.IsExported():
			if seen[name] || !plainJSONName.MatchString(name) || !m.omitZero && option != "" ||
				reflect.PointerTo(f.Type).Implements(isZeroerType) {
				return nil, false
			}
			seen[name] = true
			m.prefix, m.encode = `,"`+name+`":`, encoderFor(f.Type)
			list = append(list, m)
		}
	}
	return list, true
}

func (m structFields) encode(b []byte, v reflect.Value) ([]byte, error) {
	start := len(b)
	b, err := m.appendTo(b, v)
	if len(b) == start {
		return append(b, "{}"...), err
	}
	b[start] = '{' // in place of the first comma
	return append(b, '}'), err
}

// appendTo appends the members, each with a comma before it.
func (m structFields) appendTo(b []byte, v reflect.Value) (_ []byte, err error) {
	for i := range m {
		f, at := &m[i], v.Field(m[i].index)
		switch {
		case f.encode == nil:
			b, err = f.embedded.appendTo(b, at)
		case !f.omitZero || !at.IsZero():
			b, err = f.encode(append(b, f.prefix...), at)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}
