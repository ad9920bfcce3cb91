package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Bounds of a result.
const (
	maxResult     = 32 << 10 // bytes of text
	maxSearchText = 1000     // characters of each text that a search shows
	maxListTexts  = 50       // texts of a list of texts, where not all has room
	minText       = 200      // characters below which a page rather shows fewer items
)

// truncateResult returns the answer raw with no more bytes than a result holds. Texts in
// lists are cut first, down to least characters, then the others, and of lists of
// texts, which may be very long, few are left; an object that lost something says
// "truncated": true. Where from is not negative, the
// object's content begins at that character, and nextOffset says where the
// next part does. The outermost markdown is never cut. If cutting texts is not
// enough, out is nil and room is the number of items of the list that would have
// fitted. Texts in lists have at most listed characters.
func truncateResult(raw []byte, offset, listed int) (out []byte, maxItems int) {
	if listed == maxResult && len(raw) <= maxResult && offset <= 0 {
		return raw, 0
	}
	if !json.Valid(raw) {
		return nil, 0
	}
	k := truncator{in: bytes.TrimSpace(raw), offset: offset, listTextLimit: listed, textLimit: maxResult}
	if k.copyAll() || k.searchLimit(&k.listTextLimit) || k.searchLimit(&k.textLimit) {
		return k.out, 0
	}
	return nil, k.wholeItems
}

// searchLimit finds a limit that makes the copy small enough, within a sixteenth of
// the largest. Where not even the least does, it stays at that.
func (k *truncator) searchLimit(limit *int) bool {
	low, high := minText, *limit
	if *limit = low; !k.copyAll() {
		return false
	}
	for high-low > low/16 {
		if *limit = (low + high) / 2; k.copyAll() {
			low = *limit
		} else {
			high = *limit
		}
	}
	*limit = low
	return k.copyAll()
}

// A truncator copies valid JSON and cuts its long texts on the way.
type truncator struct {
	in            []byte
	offset        int // the character at which the outermost content begins, or -1
	listTextLimit int // characters of a text within a list
	textLimit     int // characters of any other text

	out              []byte
	depth, listDepth int
	nextOffset       int // where the outermost content was cut, or 0
	wholeItems       int // of the outermost list that were copied whole
}

// copyAll copies, and reports whether the copy is small enough. It ends as soon as
// it is not.
func (k *truncator) copyAll() bool {
	k.out, k.depth, k.listDepth, k.nextOffset, k.wholeItems = make([]byte, 0, min(len(k.in), maxResult)+64), 0, 0, 0, 0
	k.copyValue(0, k.textLimit, 0)
	return len(k.out) <= maxResult
}

// copyValue copies the value at i, a text from its character start on and up to
// limit characters. It returns the end of the value, and whether something
// was cut off that the object around it must tell.
func (k *truncator) copyValue(i, limit, start int) (end int, cut bool) {
	switch k.in[i] {
	case '{':
		return k.copyObject(i), false
	case '[':
		return k.copyList(i)
	case '"':
		return k.copyString(i, limit, start)
	}
	end = scalarEnd(k.in, i)
	k.out = append(k.out, k.in[i:end]...)
	return end, false
}

func (k *truncator) copyObject(i int) int {
	k.depth++
	cut, first := false, true
	k.out = append(k.out, '{')
	for i = skipSpace(k.in, i+1); k.in[i] != '}'; {
		if len(k.out) > maxResult {
			break
		}
		if !first {
			k.out = append(k.out, ',')
		}
		first = false
		end := stringEnd(k.in, i)
		name := k.in[i:end]
		k.out = append(append(k.out, name...), ':')
		at, truncated := k.copyMember(string(name), skipSpace(k.in, skipSpace(k.in, end)+1))
		cut = cut || truncated
		i = skipComma(k.in, at)
	}
	k.depth--
	if cut {
		k.out = append(k.out, `,"truncated":true`...)
	}
	if k.depth == 0 && k.nextOffset > 0 {
		k.out = strconv.AppendInt(append(k.out, `,"nextOffset":`...), int64(k.nextOffset), 10)
	}
	k.out = append(k.out, '}')
	return k.afterBracket(i)
}

// copyMember copies the value of a name.
func (k *truncator) copyMember(name string, i int) (end int, cut bool) {
	limit, start := k.textLimit, 0
	if k.depth == 1 && name == `"markdown"` {
		return k.copyValue(i, maxResult, 0) // a cut would leave a fence open
	}
	if k.listDepth > 0 {
		limit = k.listTextLimit
	}
	if k.offset < 0 || k.depth > 1 || name != `"content"` {
		return k.copyValue(i, limit, 0)
	}
	start = k.offset
	if end, cut = k.copyValue(i, limit, start); cut {
		k.nextOffset = start + limit
	}
	return end, cut
}

func (k *truncator) copyList(i int) (end int, cut bool) {
	k.listDepth++
	k.out = append(k.out, '[')
	whole, n := i, 0
	for i = skipSpace(k.in, i+1); k.in[i] != ']'; n++ {
		if len(k.out) > maxResult {
			break
		}
		if n == maxListTexts && k.in[i] == '"' {
			i, cut = valueEnd(k.in, whole)-1, true
			break
		}
		if k.out[len(k.out)-1] != '[' {
			k.out = append(k.out, ',')
		}
		at, truncated := k.copyValue(i, k.listTextLimit, 0)
		cut = cut || truncated
		if k.listDepth == 1 && k.depth == 1 && len(k.out) <= maxResult {
			k.wholeItems++
		}
		i = skipComma(k.in, at)
	}
	k.listDepth--
	k.out = append(k.out, ']')
	return k.afterBracket(i), cut
}

// afterBracket returns the place after the bracket at i, or the last byte of all where
// the copy has become too large: every loop ends there.
func (k *truncator) afterBracket(i int) int {
	if len(k.out) > maxResult {
		return len(k.in) - 1
	}
	return i + 1
}

// copyString copies limit characters of a text. An escape is one character, a pair
// of them that makes one (RFC 8259, section 7) too.
func (k *truncator) copyString(i, limit, start int) (end int, cut bool) {
	end = stringEnd(k.in, i)
	k.out = append(k.out, '"')
	if s := k.in[i+1 : end-1]; len(s) <= limit && start == 0 {
		k.out = append(k.out, s...)
	} else {
		s = s[prefixBytes(s, start):]
		n := prefixBytes(s, limit)
		k.out, cut = append(k.out, s[:n]...), n < len(s)
	}
	k.out = append(k.out, '"')
	return end, cut
}

// prefixBytes returns the length in bytes of the first n characters of the
// inside of a JSON string.
func prefixBytes(s []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		switch {
		case s[i] != '\\':
			_, size := utf8.DecodeRune(s[i:])
			i += size
		case s[i+1] != 'u':
			i += 2
		default:
			if i += 6; s[i-4]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), s[i-3]) >= 0 &&
				bytes.HasPrefix(s[i:], []byte(`\u`)) {
				i += 6
			}
		}
	}
	return i
}
