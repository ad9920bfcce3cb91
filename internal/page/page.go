// Package page holds the records of a page of a list, which the bytes of their JSON bound.
package page

import "reflect"

// MaxBytes bounds the JSON of a response that lists records.
const MaxBytes = 4 << 20

// recordBytes is the part of MaxBytes for records; the rest is for the cursor and the like.
const recordBytes = MaxBytes - 64<<10

// MemoriesPerQuery is how many memories one statement reads: with the largest texts, little more than a page holds.
const MemoriesPerQuery = 20

// A Budget counts the bytes of the records on a page.
type Budget struct{ spent int }

// Spend takes bytes for a record and reports whether the page has room for it. There is always room for the first
// record, so that pages end at records of any size.
func (b *Budget) Spend(bytes int) bool {
	if b.spent > 0 && b.spent+bytes > recordBytes {
		return false
	}
	b.spent += bytes
	return true
}

// jsonScalarSize bounds the bytes of a value other than a text, or of a name with its punctuation.
const jsonScalarSize = 32

// JSONSize returns a bound of the bytes of a value as JSON. The value has no maps and only valid UTF-8, and HTML is not
// escaped. It costs less than to write the value.
func JSONSize(v any) int { return jsonSize(reflect.ValueOf(v)) }

func jsonSize(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return jsonStringSize(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return jsonScalarSize
		}
		return jsonSize(v.Elem())
	case reflect.Slice:
		n = jsonScalarSize
		for i := range v.Len() {
			n += jsonSize(v.Index(i)) + 1
		}
		return n
	case reflect.Struct:
		n = jsonScalarSize
		for i := range v.NumField() {
			n += jsonScalarSize + jsonSize(v.Field(i))
		}
		return n
	}
	return jsonScalarSize
}

// jsonStringSize returns the bytes of a text as JSON, quotes included, or a few more.
func jsonStringSize(s string) int {
	n := 2
	for i := range len(s) {
		n += int(jsonByteSizes[s[i]])
	}
	return n
}

// jsonByteSizes are the bytes that each byte of a text takes in JSON (RFC 8259, section 7).
var jsonByteSizes = func() (sizes [256]uint8) {
	for b := range sizes {
		sizes[b] = 1
		if b < ' ' {
			sizes[b] = 6
		}
	}
	for _, b := range []byte("\b\f\n\r\t\"\\") {
		sizes[b] = 2
	}
	sizes[0xE2] = 4 // begins U+2028 and U+2029, which take six
	return sizes
}()
