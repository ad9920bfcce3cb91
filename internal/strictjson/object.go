package strictjson

// A Member is one member of an object.
type Member struct {
	Name  string
	Value []byte
}

// IsArray reports whether the value is an array.
func (m Member) IsArray() bool { return len(m.Value) > 0 && m.Value[0] == '[' }

// IsObject reports whether the value is an object.
func (m Member) IsObject() bool { return len(m.Value) > 0 && m.Value[0] == '{' }

// Object returns the members of an object in their order.
func Object(text []byte) (members []Member, err error) {
	in := NewScanner(text)
	if in.Next() != '{' {
		return nil, in.SyntaxError()
	}
	err = in.Members(func(name string) error {
		value, err := in.Raw()
		members = append(members, Member{name, value})
		return err
	})
	return members, err
}
