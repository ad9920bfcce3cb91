package op

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Args are the input of a call: a JSON object, and fields that were sent as texts.
type Args struct {
	JSON     []byte // a flat JSON object; empty is {}
	Params   []Param
	FromHTTP bool // JSON is an HTTP body: it may contain only the fields of the body
}

// A Param is a field that was sent as a text: a segment of a path, a query value, a flag. A list is sent as several
// Params of one name, each of which SplitList splits.
type Param struct {
	Name, Value string
	Location    Location // where it was sent; empty where that does not matter
}

// invalidf returns an error for an input. The message names the field and the limit.
func invalidf(format string, args ...any) error {
	return loci.Errorf(loci.CodeInvalidQuery, format, args...)
}

// decode reads a into a new value of the operation's input type. It is strict: unknown and malformed fields are errors.
func (o *Op) decode(a Args) (any, error) {
	in := reflect.New(o.inType)
	var given fieldSet
	d := decoder{Scanner: strictjson.NewScanner(a.JSON), op: o, fromHTTP: a.FromHTTP}
	if err := d.decodeDocument(o.input, in.Elem(), &given); err != nil {
		if syntax, ok := errors.AsType[strictjson.Error](err); ok {
			err = invalidf("%s", syntax)
		}
		return nil, err
	}
	for _, t := range a.Params {
		if err := o.setParam(in.Elem(), t, &given); err != nil {
			return nil, err
		}
	}
	if err := o.input.checkRequired(&given, ""); err != nil {
		return nil, err
	}
	if o.Method == "PATCH" && !o.changesSomething(&given) {
		return nil, invalidf("send at least one field to change: %s", strings.Join(o.fieldNames(InBody), ", "))
	}
	return in.Interface(), nil
}

// Canonical checks a as the operation does and returns the input as one JSON object. A remote caller sends that object,
// so that it reports errors in the same words as the operation itself.
func (o *Op) Canonical(a Args) ([]byte, error) {
	in, err := o.decode(a)
	if err != nil {
		return nil, err
	}
	return Marshal(in)
}

// changesSomething reports whether a field of the body was given.
func (o *Op) changesSomething(given *fieldSet) bool {
	for i := range o.input.fields {
		if given.has(i) && o.input.fields[i].Location == InBody {
			return true
		}
	}
	return false
}

func (o *Op) fieldNames(places ...Location) []string {
	var names []string
	for _, f := range o.input.fields {
		for _, p := range places {
			if f.Location == p {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// maxFields is the largest number of fields of one object: a fieldSet has a bit for each.
const maxFields = 64

// A fieldSet is the set of the given fields, at most maxFields.
type fieldSet uint64

func (s *fieldSet) has(i int) bool { return *s&(1<<i) != 0 }
func (s *fieldSet) add(i int)      { *s |= 1 << i }

// checkRequired reports the first required field that is missing.
func (p *inputSpec) checkRequired(given *fieldSet, prefix string) error {
	for i := range p.fields {
		if p.fields[i].Required && !given.has(i) {
			return invalidf("%s is required", prefix+p.fields[i].Name)
		}
	}
	return nil
}

// setParam sets a field from a text.
func (o *Op) setParam(in reflect.Value, t Param, given *fieldSet) error {
	for i := range o.input.fields {
		f := &o.input.fields[i]
		if f.Name != t.Name || t.Location != "" && t.Location != f.Location {
			continue
		}
		repeated := given.has(i)
		if repeated && f.spec.kind != arrayKind {
			return invalidf("%s is given twice", f.Name)
		}
		given.add(i)
		v := in.FieldByIndex(f.index)
		if repeated && f.spec.pointer {
			v = v.Elem()
		} else {
			v = f.spec.settable(v)
		}
		return f.spec.setFromString(v, f.Name, t.Value)
	}
	places := []Location{InQuery}
	if t.Location == "" {
		places = []Location{InPath, InQuery, InBody}
	}
	return unknownField(t.Name, o.fieldNames(places...))
}

func (p *inputSpec) setFromString(v reflect.Value, name, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return invalidf("%s must be valid UTF-8 without NUL", name)
	}
	switch p.kind {
	case boolKind:
		if text != "true" && text != "false" {
			return invalidf("%s must be true or false", name)
		}
		return p.setBool(v, name, text == "true")
	case integerKind, numberKind:
		if end := strictjson.NumberEnd([]byte(text), 0); end < 0 || end != len(text) ||
			p.kind == integerKind && strings.ContainsAny(text, ".eE") {
			return p.typeError(name)
		}
		return p.setNumber(v, name, text)
	case timeKind, stringKind:
		return p.setString(v, name, text)
	case arrayKind:
		return p.appendItems(v, name, SplitList(text))
	}
	return invalidf("%s cannot be given as a text", name)
}

// appendItems adds items to the list v.
func (p *inputSpec) appendItems(v reflect.Value, name string, items []string) error {
	before := v.Slice(0, v.Len())
	if err := p.grow(v, name, before.Len()+len(items)); err != nil {
		return err
	}
	reflect.Copy(v, before)
	for i, item := range items {
		if err := p.elem.setFromString(p.elem.settable(v.Index(before.Len()+i)), name, item); err != nil {
			return err
		}
	}
	return nil
}

// SplitList splits a list that is written as one text: items are separated by commas, and \, is a comma within an item.
func SplitList(text string) []string {
	if !strings.Contains(text, `\,`) {
		return strings.Split(text, ",")
	}
	var items []string
	var item strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ',':
			items = append(items, item.String())
			item.Reset()
			continue
		case strings.HasPrefix(text[i:], `\,`):
			i++
		}
		item.WriteByte(text[i])
	}
	return append(items, item.String())
}

// grow makes v a list of n items, if the rule allows that many.
func (p *inputSpec) grow(v reflect.Value, name string, n int) error {
	switch {
	case n > p.maxItems():
		return invalidf("%s must have at most %s", name, plural(p.maxItems(), "item"))
	case n < p.rule.MinItems:
		return invalidf("%s must have at least %s", name, plural(p.rule.MinItems, "item"))
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	return nil
}

// maxItems returns the most items of a list; a general bound applies where the rule has none.
func (p *inputSpec) maxItems() int {
	if p.rule.MaxItems > 0 {
		return p.rule.MaxItems
	}
	return 1000
}

func (p *inputSpec) setBool(v reflect.Value, name string, b bool) error {
	if p.rule.True && !b {
		return invalidf("%s must be true", name)
	}
	v.SetBool(b)
	return nil
}

// setNumber reads a number in JSON's form. As in JSON Schema, 5.0 is an integer.
func (p *inputSpec) setNumber(v reflect.Value, name, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return invalidf("%s is out of range", name)
	}
	if p.kind == integerKind && f != math.Trunc(f) {
		return p.typeError(name)
	}
	if r := p.rule; r.Max > 0 {
		if f < float64(r.Min) {
			return invalidf("%s must be at least %d", name, r.Min)
		}
		if f > float64(r.Max) {
			return invalidf("%s must be at most %d", name, r.Max)
		}
	}
	if p.kind == numberKind {
		v.SetFloat(f + 0) // -0 becomes 0: not every database keeps its sign
		return nil
	}
	if math.Abs(f) > loci.Unlimited {
		return invalidf("%s is out of range", name)
	}
	v.SetInt(int64(f))
	return nil
}

func (p *inputSpec) setString(v reflect.Value, name, text string) error {
	if p.kind == timeKind {
		return p.setTime(v, name, text)
	}
	if text == "" && p.typ == idType {
		return loci.NewError(loci.CodeNotFound) // as any id that is ill-formed: an absent one would mean all there is
	}
	r := &p.rule
	if r.Trim {
		text = strings.TrimSpace(text)
	}
	if r.Format == "email" {
		text = BareAddress(text)
	}
	if r.Enum != nil {
		return p.setEnum(v, name, text)
	}
	if r.MaxBytes > 0 && len(text) > r.MaxBytes {
		return invalidf("%s must have at most %s", name, plural(r.MaxBytes, "byte"))
	}
	if r.MaxLength > 0 && len(text) > r.MaxLength && utf8.RuneCountInString(text) > r.MaxLength {
		return invalidf("%s must have at most %s", name, plural(r.MaxLength, "character"))
	}
	if r.MinLength > 0 && len(text) < r.MinLength*utf8.UTFMax && utf8.RuneCountInString(text) < r.MinLength {
		if r.MinLength == 1 {
			return invalidf("%s must not be empty", name)
		}
		return invalidf("%s must have at least %s", name, plural(r.MinLength, "character"))
	}
	if r.Visible && !strings.ContainsFunc(text, loci.IsVisible) {
		return invalidf("%s must have a visible character: a letter, digit, symbol or punctuation mark", name)
	}
	if p.pattern != nil && !p.pattern.MatchString(text) {
		return invalidf("%s must have only %s", name, r.Characters)
	}
	if p.typ == momentType {
		if _, err := loci.Moment(text).At(0, name); err != nil {
			return err
		}
	}
	if r.NoSecret {
		if err := secret.Reject(loci.SecretsReject, name, text); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

func (p *inputSpec) setTime(v reflect.Value, name, text string) error {
	var at loci.Time
	err := at.UnmarshalText([]byte(text))
	if p.endOfDay && err != nil {
		err = at.UnmarshalText([]byte(text + "T23:59:59.999Z"))
	}
	switch {
	case err == nil:
		v.SetInt(int64(at))
		return nil
	case p.endOfDay:
		return invalidf("%s must be a time with an offset, such as 2026-01-02T15:04:05Z, or a date, such as 2026-01-02",
			name)
	}
	return invalidf("%s must be a time with an offset, such as 2026-01-02T15:04:05Z", name)
}

// BareAddress returns the e-mail address of a text as people paste it: with white space around, or with a name before
// it, as in "Ann <ann@example.com>" (RFC 5322, section 3.4). It does not check the address.
func BareAddress(text string) string {
	text = strings.TrimSpace(text)
	if name, rest, ok := strings.Cut(text, "<"); ok && strings.Count(rest, ">") == 1 && !strings.Contains(name, "@") {
		if address, isLast := strings.CutSuffix(rest, ">"); isLast {
			return strings.TrimSpace(address)
		}
	}
	return text
}

// Parse returns a text that no transport has decoded as a value of a string type. It applies the rule of the type.
func Parse[T ~string](name, text string) (v T, err error) {
	err = newInputSpec(reflect.TypeFor[T]()).setString(reflect.ValueOf(&v).Elem(), name, text)
	return v, err
}

func (p *inputSpec) setEnum(v reflect.Value, name, text string) error {
	for _, w := range p.rule.Enum {
		if w == text {
			v.SetString(w)
			return nil
		}
	}
	return invalidf("%s must be one of %s", name, strings.Join(p.rule.Enum, ", "))
}

// typeError returns the error for a value of another JSON type.
func (p *inputSpec) typeError(name string) error {
	switch p.kind {
	case arrayKind:
		return invalidf("%s must be a list of %ss", name, p.elem.kind)
	case integerKind:
		return invalidf("%s must be an integer", name)
	case objectKind, metadataKind:
		return invalidf("%s must be an object", name)
	}
	return invalidf("%s must be a %s", name, p.kind)
}

// unknownField returns the error for an unknown name, with the nearest known one.
func unknownField(name string, known []string) error {
	best := Nearest(name, known)
	switch short := strictjson.Shorten(name); {
	case best != "":
		return invalidf("unknown field %q: did you mean %q?", short, best)
	case len(known) == 0:
		return invalidf("unknown field %q: there are no fields here", short)
	default:
		return invalidf("unknown field %q: the fields are %s", short, strings.Join(known, ", "))
	}
}

// Nearest returns the known name that is the fewest edits away from name, or "" where none is near.
func Nearest(name string, known []string) string {
	best, minDistance := "", len(name)/2+1
	for _, k := range known {
		if d := editDistance(foldName(name), foldName(k)); d < minDistance {
			best, minDistance = k, d
		}
	}
	return best
}

var separators = strings.NewReplacer("_", "", "-", "")

// foldName removes differences of letter case and word separators.
func foldName(s string) string {
	return strings.ToLower(separators.Replace(strictjson.Shorten(s)))
}

// editDistance is the edit distance of two short words (Wagner and Fischer, 1974).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// plural returns a number with its noun: 1 item, 2 items.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
