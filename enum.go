package loci

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
)

// enumValues returns the texts of an enum.
func enumValues[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// unique returns the texts without repetition, in order, never nil.
func unique[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	seen := make(map[T]bool, len(values))
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			out = append(out, string(v))
		}
	}
	return out
}

// entityTag returns the entity tag of a record with fields that others may
// change too, such as counts. It is computed from the shown values.
func entityTag(id ID, values ...string) string {
	h := fnv.New64a()
	for _, v := range append([]string{string(id)}, values...) {
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(len(v)))
		h.Write(n[:])
		h.Write([]byte(v))
	}
	var sum [8]byte
	tag := [13]byte{0: '"', 12: '"'}
	base64.RawURLEncoding.Encode(tag[1:12], h.Sum(sum[:0]))
	return string(tag[:])
}
