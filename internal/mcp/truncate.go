package mcp

import (
	"bytes"
	"errors"
	"math"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Bounds of a result.
const (
	maxResult    = 32 << 10 // bytes of text
	maxListTexts = 50       // texts of a list of texts, where not all has room
	minText      = 200      // characters below which a page rather shows fewer items
)

// truncateResult returns the answer raw with at most maxResult bytes. Texts in lists are cut first, down to minText
// characters, then the others; lists of texts keep maxListTexts. An object that lost something says "truncated": true.
// A whole text is never cut here.
// If cutting is not enough, out is nil, and maxItems is the number of items of the list that would have fitted.
func truncateResult(raw []byte, shown op.Presentation) (out []byte, maxItems int) {
	if len(raw) <= maxResult {
		return raw, 0
	}
	k := newTruncator(raw, shown)
	if k.fit() {
		return k.out, 0
	}
	return nil, k.wholeItems
}

func newTruncator(raw []byte, shown op.Presentation) *truncator {
	return &truncator{raw: raw, shown: shown, maxBytes: maxResult, wholeLimit: math.MaxInt, itemLimit: math.MaxInt}
}

// fit cuts texts until the copy fits, and reports whether it does.
func (k *truncator) fit() bool {
	if k.copyAll(maxResult, maxResult) {
		return true
	}
	list, ok := largestLimit(maxResult, func(limit int) bool { return k.copyAll(limit, maxResult) })
	if !ok {
		_, ok = largestLimit(maxResult, func(limit int) bool { return k.copyAll(list, limit) })
	}
	return ok
}

// fitLists cuts lists too until the copy fits, and reports whether it does.
func (k *truncator) fitLists() bool {
	for _, k.itemLimit = range []int{50, 20, 10, 5} {
		if k.fit() {
			return true
		}
	}
	return false
}

// truncateLists returns the answer raw with at most maxResult bytes: each list keeps its first items, the newest ones.
// If cutsWhole, whole texts lose their last memories too. It returns nil where that is not enough.
func truncateLists(raw []byte, shown op.Presentation, cutsWhole bool) []byte {
	k, wholeLimits := newTruncator(raw, shown), []int{math.MaxInt}
	if cutsWhole {
		wholeLimits = append(wholeLimits, maxResult*3/4, maxResult/2, maxResult/4, 0)
	}
	for _, k.wholeLimit = range wholeLimits {
		if k.fitLists() {
			return k.out
		}
	}
	return nil
}

// largestLimit returns a limit below high with which a copy fits, within a sixteenth of the largest one. It makes that
// copy last. If minText does not fit, it returns minText.
func largestLimit(high int, fits func(limit int) bool) (limit int, ok bool) {
	low := minText
	if !fits(low) {
		return low, false
	}
	for high-low > low/16 {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, fits(low)
}

// A truncator copies JSON and cuts its long texts on the way.
type truncator struct {
	raw           []byte
	shown         op.Presentation
	maxBytes      int  // of the copy
	listTextLimit int  // characters of a text within a list
	textLimit     int  // characters of any other text
	wholeLimit    int  // bytes of a whole text, which loses memories beyond
	itemLimit     int  // items of each list
	quiet         bool // objects do not say that they were truncated

	in               strictjson.Scanner
	out              []byte
	depth, listDepth int
	wholeItems       int // of the outermost list that were copied whole
}

// errTooLong ends a copy that has become larger than a result.
var errTooLong = errors.New("mcp: the result is too long")

// copyAll copies under limits, and reports whether the copy is small enough. It ends as soon as it is not.
func (k *truncator) copyAll(listTextLimit, textLimit int) bool {
	k.listTextLimit, k.textLimit = listTextLimit, textLimit
	k.in, k.out = strictjson.NewScanner(k.raw), make([]byte, 0, min(len(k.raw), k.maxBytes)+64)
	k.depth, k.listDepth, k.wholeItems = 0, 0, 0
	_, err := k.copyValue(k.textLimit)
	return err == nil && len(k.out) <= k.maxBytes
}

// copyValue copies the next value, a text up to limit characters. It reports whether something was cut off that the
// object around it must tell.
func (k *truncator) copyValue(limit int) (cut bool, err error) {
	switch c := k.in.Next(); {
	case len(k.out) > k.maxBytes:
		return false, errTooLong
	case c == '{':
		return false, k.copyObject()
	case c == '[':
		return k.copyList()
	}
	value, err := k.in.Raw()
	if err == nil && value[0] == '"' {
		return k.copyString(value[1:len(value)-1], limit), nil
	}
	k.out = append(k.out, value...)
	return false, err
}

func (k *truncator) copyObject() error {
	k.depth++
	cut := false
	k.out = append(k.out, '{')
	err := k.in.RawMembers(func(name []byte) error {
		if string(name) == `"truncated"` { // already: it is written once, at the end
			cut = true
			_, err := k.in.Raw()
			return err
		}
		k.out = append(append(appendComma(k.out), name...), ':')
		truncated, err := k.copyMember(string(name[1 : len(name)-1]))
		cut = cut || truncated
		return err
	})
	k.depth--
	if cut && !k.quiet {
		k.out = append(k.out, `,"truncated":true`...)
	}
	k.out = append(k.out, '}')
	return err
}

// copyMember copies the value of a name.
func (k *truncator) copyMember(name string) (cut bool, err error) {
	limit, shown := k.textLimit, k.shown
	if name == shown.Whole {
		return k.copyWhole()
	}
	k.shown = shown.Members[name].Nested
	defer func() { k.shown = shown }()
	if k.listDepth > 0 {
		limit = k.listTextLimit
	}
	return k.copyValue(limit)
}

// copyWhole copies a text of memories between fences: whole, or without its last memories. A cut elsewhere would leave
// a fence open.
func (k *truncator) copyWhole() (cut bool, err error) {
	value, err := k.in.Raw()
	if cut = len(value) > k.wholeLimit && value[0] == '"'; cut {
		markdown, _ := text(value)
		value = encode(fence.Prefix(markdown, k.wholeLimit))
	}
	k.out = append(k.out, value...)
	return cut, err
}

func (k *truncator) copyList() (cut bool, err error) {
	k.listDepth++
	k.out = append(k.out, '[')
	n, full := 0, false
	err = k.in.Items(']', func() error {
		if n++; full || n > k.itemLimit || n > maxListTexts && k.in.Next() == '"' {
			cut, full = true, true
			_, err := k.in.Raw()
			return err
		}
		k.out = appendComma(k.out)
		truncated, err := k.copyValue(k.listTextLimit)
		cut = cut || truncated
		if k.listDepth == 1 && k.depth == 1 && len(k.out) <= k.maxBytes && err == nil {
			k.wholeItems++
		}
		return err
	})
	k.listDepth--
	k.out = append(k.out, ']')
	return cut, err
}

// copyString copies limit characters of the inside of a JSON string.
func (k *truncator) copyString(s []byte, limit int) (cut bool) {
	if len(s) > limit {
		n := prefixBytes(s, limit)
		s, cut = s[:n], n < len(s)
	}
	k.out = append(append(append(k.out, '"'), s...), '"')
	return cut
}

// prefixBytes returns the length in bytes of the first n characters of the
// inside of a JSON string. An escape is one character, and so is a pair of them that makes one (RFC 8259, section 7).
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
