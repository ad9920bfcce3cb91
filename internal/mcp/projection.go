package mcp

import (
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A projection copies an answer without the members that tools omit; see op.Presentation.
type projection struct{ op.Presentation }

// apply returns an answer without the members that the projection omits.
func (b projection) apply(raw []byte) []byte {
	in := strictjson.NewScanner(raw)
	out, err := b.copyValue(make([]byte, 0, len(raw)), &in)
	if err != nil {
		return raw
	}
	return out
}

// copyValue appends the next value of in to out.
func (b projection) copyValue(out []byte, in *strictjson.Scanner) ([]byte, error) {
	switch c := in.Next(); {
	case b.Members == nil && b.Snippets == "" || c != '[' && c != '{':
		value, err := in.Raw()
		return append(out, value...), err
	case c == '{':
		return b.copyObject(out, in)
	}
	out = append(out, '[')
	err := in.Items(']', func() (err error) {
		out, err = b.copyValue(appendComma(out), in)
		return err
	})
	return append(out, ']'), err
}

func (b projection) copyObject(out []byte, in *strictjson.Scanner) ([]byte, error) {
	out = append(out, '{')
	long := false
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		if err != nil {
			return err
		}
		plain := string(name[1 : len(name)-1])
		m := b.Members[plain]
		if plain == b.Text && value[0] == '"' {
			text := value[1 : len(value)-1]
			long = prefixBytes(text, maxSearchText) < len(text)
		}
		if plain == b.Snippets && !long || m.Omit || m.OmitValue != "" && string(value) == m.OmitValue {
			return nil
		}
		out = append(append(appendComma(out), name...), ':')
		nested := strictjson.NewScanner(value)
		out, err = projection{m.Nested}.copyValue(out, &nested)
		return err
	})
	return append(out, '}'), err
}

// appendComma appends a comma, unless a bracket was opened just before.
func appendComma(out []byte) []byte {
	if last := out[len(out)-1]; last == '{' || last == '[' {
		return out
	}
	return append(out, ',')
}
