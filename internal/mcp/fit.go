package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Bounds of a result.
const (
	most  = 32 << 10 // bytes of text
	found = 1000     // characters of each text that a search shows
	few   = 50       // texts of a list of texts, where not all has room
	least = 200      // characters below which a page rather shows fewer items
)

// fit returns the answer raw with no more bytes than a result holds. Texts in
// lists are cut first, down to least characters, then the others, and of lists of
// texts, which may be very long, few are left; an object that lost something says
// "truncated": true. Where from is not negative, the
// object's content begins at that character, and nextOffset says where the
// next part does. The outermost markdown is never cut. If cutting texts is not
// enough, out is nil and room is the number of items of the list that would have
// fitted. Texts in lists have at most listed characters.
func fit(raw []byte, from, listed int) (out []byte, room int) {
	if listed == most && len(raw) <= most && from <= 0 {
		return raw, 0
	}
	if !json.Valid(raw) {
		return nil, 0
	}
	k := cutter{in: bytes.TrimSpace(raw), from: from, listed: listed, single: most}
	if k.run() || k.shrink(&k.listed) || k.shrink(&k.single) {
		return k.out, 0
	}
	return nil, k.items
}

// shrink finds a limit that makes the copy small enough, within a sixteenth of
// the largest. Where not even the least does, it stays at that.
func (k *cutter) shrink(limit *int) bool {
	low, high := least, *limit
	if *limit = low; !k.run() {
		return false
	}
	for high-low > low/16 {
		if *limit = (low + high) / 2; k.run() {
			low = *limit
		} else {
			high = *limit
		}
	}
	*limit = low
	return k.run()
}

// A cutter copies valid JSON and cuts its long texts on the way.
type cutter struct {
	in     []byte
	from   int // the character at which the outermost content begins, or -1
	listed int // characters of a text within a list
	single int // characters of any other text

	out          []byte
	depth, lists int
	next         int // where the outermost content was cut, or 0
	items        int // of the outermost list that were copied whole
}

// run copies, and reports whether the copy is small enough. It ends as soon as
// it is not.
func (k *cutter) run() bool {
	k.out, k.depth, k.lists, k.next, k.items = make([]byte, 0, min(len(k.in), most)+64), 0, 0, 0, 0
	k.value(0, k.single, 0)
	return len(k.out) <= most
}

// value copies the value at i, a text from its character start on and up to
// limit characters. It returns the end of the value, and whether something
// was cut off that the object around it must tell.
func (k *cutter) value(i, limit, start int) (end int, cut bool) {
	switch k.in[i] {
	case '{':
		return k.object(i), false
	case '[':
		return k.list(i)
	case '"':
		return k.text(i, limit, start)
	}
	end = scalar(k.in, i)
	k.out = append(k.out, k.in[i:end]...)
	return end, false
}

func (k *cutter) object(i int) int {
	k.depth++
	cut, first := false, true
	k.out = append(k.out, '{')
	for i = space(k.in, i+1); k.in[i] != '}'; {
		if len(k.out) > most {
			break
		}
		if !first {
			k.out = append(k.out, ',')
		}
		first = false
		end := quoted(k.in, i)
		name := k.in[i:end]
		k.out = append(append(k.out, name...), ':')
		at, lost := k.member(string(name), space(k.in, space(k.in, end)+1))
		cut = cut || lost
		i = comma(k.in, at)
	}
	k.depth--
	if cut {
		k.out = append(k.out, `,"truncated":true`...)
	}
	if k.depth == 0 && k.next > 0 {
		k.out = strconv.AppendInt(append(k.out, `,"nextOffset":`...), int64(k.next), 10)
	}
	k.out = append(k.out, '}')
	return k.past(i)
}

// member copies the value of a name.
func (k *cutter) member(name string, i int) (end int, cut bool) {
	limit, start := k.single, 0
	if k.depth == 1 && name == `"markdown"` {
		return k.value(i, most, 0) // a cut would leave a fence open
	}
	if k.lists > 0 {
		limit = k.listed
	}
	if k.from < 0 || k.depth > 1 || name != `"content"` {
		return k.value(i, limit, 0)
	}
	start = k.from
	if end, cut = k.value(i, limit, start); cut {
		k.next = start + limit
	}
	return end, cut
}

func (k *cutter) list(i int) (end int, cut bool) {
	k.lists++
	k.out = append(k.out, '[')
	whole, n := i, 0
	for i = space(k.in, i+1); k.in[i] != ']'; n++ {
		if len(k.out) > most {
			break
		}
		if n == few && k.in[i] == '"' {
			i, cut = after(k.in, whole)-1, true
			break
		}
		if k.out[len(k.out)-1] != '[' {
			k.out = append(k.out, ',')
		}
		at, lost := k.value(i, k.listed, 0)
		cut = cut || lost
		if k.lists == 1 && k.depth == 1 && len(k.out) <= most {
			k.items++
		}
		i = comma(k.in, at)
	}
	k.lists--
	k.out = append(k.out, ']')
	return k.past(i), cut
}

// past returns the place after the bracket at i, or the last byte of all where
// the copy has become too large: every loop ends there.
func (k *cutter) past(i int) int {
	if len(k.out) > most {
		return len(k.in) - 1
	}
	return i + 1
}

// text copies limit characters of a text. An escape is one character, a pair
// of them that makes one (RFC 8259, section 7) too.
func (k *cutter) text(i, limit, start int) (end int, cut bool) {
	end = quoted(k.in, i)
	k.out = append(k.out, '"')
	if s := k.in[i+1 : end-1]; len(s) <= limit && start == 0 {
		k.out = append(k.out, s...)
	} else {
		s = s[characters(s, start):]
		n := characters(s, limit)
		k.out, cut = append(k.out, s[:n]...), n < len(s)
	}
	k.out = append(k.out, '"')
	return end, cut
}

// characters returns the length in bytes of the first n characters of the
// inside of a JSON string.
func characters(s []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		switch {
		case s[i] != '\\':
			_, size := utf8.DecodeRune(s[i:])
			i += size
		case s[i+1] != 'u':
			i += 2
		default:
			if i += 6; s[i-4]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), s[i-3]) >= 0 && bytes.HasPrefix(s[i:], []byte(`\u`)) {
				i += 6
			}
		}
	}
	return i
}
