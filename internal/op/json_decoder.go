package op

import (
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner walks over JSON text (RFC 8259) once, strictly.
type scanner struct {
	data []byte
	pos  int
}

// skipSpace skips white space and returns the next byte, or 0 at the end.
func (s *scanner) skipSpace() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// consume skips white space and then c, if c comes next.
func (s *scanner) consume(c byte) bool {
	if s.skipSpace() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) consumeLiteral(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

// syntaxError refuses text that is not JSON and says where it stops to be.
func (s *scanner) syntaxError() error {
	if s.pos >= len(s.data) {
		return invalidf("the JSON text ends too early")
	}
	return invalidf("the JSON text is malformed at byte %d", s.pos)
}

// readString reads a string; the scanner stands at its quote. name is for messages.
func (s *scanner) readString(name string) (string, error) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw := s.data[start:s.pos]
			s.pos++
			if !utf8.Valid(raw) {
				return "", invalidf("%s must be valid UTF-8", name)
			}
			return string(raw), nil
		case c == '\\':
			return s.readEscapedString(name, start)
		case c < ' ':
			return "", invalidf("%s holds a control character that is not escaped", name)
		default:
			s.pos++
		}
	}
	return "", invalidf("the JSON text ends inside a string")
}

// readEscapedString reads the rest of a string that holds an escape.
func (s *scanner) readEscapedString(name string, start int) (string, error) {
	out := append(make([]byte, 0, s.pos-start+64), s.data[start:s.pos]...)
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			if !utf8.Valid(out) {
				return "", invalidf("%s must be valid UTF-8", name)
			}
			return string(out), nil
		case c == '\\':
			r, ok := s.readEscape()
			if !ok {
				return "", invalidf("%s holds an escape that is not one of JSON's", name)
			}
			if r <= 0 {
				return "", invalidf("%s must hold no NUL and no lone surrogate", name)
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return "", invalidf("%s holds a control character that is not escaped", name)
		default:
			out = append(out, c)
			s.pos++
		}
	}
	return "", invalidf("the JSON text ends inside a string")
}

// loneSurrogate is what an escaped surrogate without its other half is read as.
const loneSurrogate rune = -1

// readEscape reads one escape.
func (s *scanner) readEscape() (rune, bool) {
	if s.pos+1 >= len(s.data) {
		return 0, false
	}
	c := s.data[s.pos+1]
	s.pos += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.readUnicodeEscape()
	}
	return 0, false
}

func (s *scanner) readUnicodeEscape() (rune, bool) {
	r, ok := s.readHex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !s.consumeLiteral(`\u`) {
		return loneSurrogate, true
	}
	low, ok := s.readHex4()
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		r = loneSurrogate
	}
	return r, ok
}

func (s *scanner) readHex4() (rune, bool) {
	if len(s.data)-s.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, true
}

// numberEnd returns the end of the JSON number that begins at pos, or -1.
func numberEnd(b []byte, pos int) int {
	digits := func() bool {
		start := pos
		for pos < len(b) && '0' <= b[pos] && b[pos] <= '9' {
			pos++
		}
		return pos > start
	}
	if pos < len(b) && b[pos] == '-' {
		pos++
	}
	if pos < len(b) && b[pos] == '0' {
		pos++
	} else if !digits() {
		return -1
	}
	if pos < len(b) && b[pos] == '.' {
		pos++
		if !digits() {
			return -1
		}
	}
	if pos < len(b) && (b[pos] == 'e' || b[pos] == 'E') {
		pos++
		if pos < len(b) && (b[pos] == '+' || b[pos] == '-') {
			pos++
		}
		if !digits() {
			return -1
		}
	}
	return pos
}

// A decoder reads JSON into an operation's input.
type decoder struct {
	scanner
	op       *Op
	fromHTTP bool
}

// decodeDocument reads the whole text: one object and nothing after it.
func (d *decoder) decodeDocument(p *inputSpec, v reflect.Value, given *fieldSet) error {
	if d.skipSpace() == 0 && d.pos == len(d.data) {
		return nil
	}
	if d.skipSpace() != '{' {
		return invalidf("send a JSON object")
	}
	if err := d.decodeObject(p, v, given, ""); err != nil {
		return err
	}
	if d.skipSpace(); d.pos < len(d.data) {
		return invalidf("there is text after the JSON object")
	}
	return nil
}

// decodeObject reads an object; where is the path to it, "" or "source.".
func (d *decoder) decodeObject(p *inputSpec, v reflect.Value, given *fieldSet, prefix string) error {
	d.pos++
	if d.consume('}') {
		return nil
	}
	for {
		if d.skipSpace() != '"' {
			return d.syntaxError()
		}
		name, err := d.readString("a field's name")
		if err != nil {
			return err
		}
		if !d.consume(':') {
			return d.syntaxError()
		}
		if err := d.decodeMember(p, v, given, prefix, name); err != nil {
			return err
		}
		if d.consume('}') {
			return nil
		}
		if !d.consume(',') {
			return d.syntaxError()
		}
	}
}

func (d *decoder) decodeMember(p *inputSpec, v reflect.Value, given *fieldSet, prefix, name string) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.name != name || d.fromHTTP && prefix == "" && f.location != InBody {
			continue
		}
		if given.has(i) {
			return invalidf("%s is given twice", prefix+name)
		}
		given.add(i)
		return d.decodeValue(f.spec, f.spec.settable(v.Field(f.index)), prefix+name)
	}
	return unknownField(name, d.knownNames(p, prefix))
}

// knownNames lists the names that an object may hold.
func (d *decoder) knownNames(p *inputSpec, prefix string) []string {
	if d.fromHTTP && prefix == "" {
		return d.op.fieldNames(InBody)
	}
	names := make([]string, len(p.fields))
	for i := range p.fields {
		names[i] = p.fields[i].name
	}
	return names
}

func (d *decoder) decodeValue(p *inputSpec, v reflect.Value, name string) error {
	switch c := d.skipSpace(); {
	case c == '"' && (p.kind == stringKind || p.kind == timeKind):
		text, err := d.readString(name)
		if err != nil {
			return err
		}
		if hasNUL(text) {
			return invalidf("%s must hold no NUL", name)
		}
		return p.setString(v, name, text)
	case c == '[' && p.kind == arrayKind:
		return d.decodeArray(p, v, name)
	case c == '{' && p.kind == objectKind:
		var given fieldSet
		if err := d.decodeObject(p, v, &given, name+"."); err != nil {
			return err
		}
		return p.checkRequired(&given, name+".")
	case (c == 't' || c == 'f') && p.kind == boolKind:
		if yes := d.consumeLiteral("true"); yes || d.consumeLiteral("false") {
			return p.setBool(v, name, yes)
		}
		return d.syntaxError()
	case c == '-' || '0' <= c && c <= '9':
		end := numberEnd(d.data, d.pos)
		if end < 0 {
			return d.syntaxError()
		}
		text := string(d.data[d.pos:end])
		d.pos = end
		if p.kind != integerKind && p.kind != numberKind {
			return p.typeError(name)
		}
		return p.setNumber(v, name, text)
	case c == 'n' && d.consumeLiteral("null"):
		if p.rule.Null {
			return p.setString(v, name, "")
		}
		return invalidf("%s must not be null: leave it out", name)
	case c != '"' && c != '[' && c != '{' && c != 't' && c != 'f':
		return d.syntaxError()
	}
	return p.typeError(name)
}

func (d *decoder) decodeArray(p *inputSpec, v reflect.Value, name string) error {
	d.pos++
	n := 0
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	for !d.consume(']') {
		if n > 0 && !d.consume(',') {
			return d.syntaxError()
		}
		if n++; n > p.maxItems() {
			return invalidf("%s must have at most %d items", name, p.maxItems())
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := d.decodeValue(p.elem, p.elem.settable(v.Index(n-1)), name); err != nil {
			return err
		}
	}
	if n < p.rule.MinItems {
		return invalidf("%s must have at least %d items", name, p.rule.MinItems)
	}
	return nil
}

func hasNUL(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return true
		}
	}
	return false
}
