package jsonc

import (
	"fmt"
	"slices"
)

// Append returns the text with an item after the last one of the list that is the member of the container. An absent
// list is made. The item is JSON in one line.
func (d *Document) Append(container, name string, item []byte) ([]byte, error) {
	list, err := d.list(container, name)
	if err != nil {
		return nil, err
	}
	if list == nil {
		return d.Set(container, name, slices.Concat([]byte("["), item, []byte("]")))
	}
	return d.apply(d.insert(list.value, d.indentOf(list.start), "", item)...), nil
}

// SetItem returns the text with another item in the place of one of a list.
func (d *Document) SetItem(container, name string, index int, item []byte) ([]byte, error) {
	_, at, err := d.item(container, name, index)
	if err != nil {
		return nil, err
	}
	return d.replace(at, item), nil
}

// RemoveItem returns the text without an item of a list, or nil if nothing remains of a text that Append made. The last
// item of a list that Append made takes the list with it.
func (d *Document) RemoveItem(container, name string, index int) ([]byte, error) {
	list, at, err := d.item(container, name, index)
	if err != nil {
		return nil, err
	}
	if d.madeBySet(list.value, true) {
		return d.Remove(container, name)
	}
	return d.apply(d.cut(list.value, at)...), nil
}

// list returns a member of the container that is a list, or nil.
func (d *Document) list(container, name string) (*member, error) {
	m, err := d.find(container, name)
	if err == nil && m != nil && d.text[m.value.start] != '[' {
		err = d.errorAt(m.value.start, fmt.Sprintf("%q is not a list", name))
	}
	return m, err
}

// item returns an item of a list, which must exist.
func (d *Document) item(container, name string, index int) (list, item *member, err error) {
	list, err = d.list(container, name)
	switch {
	case err != nil:
		return nil, nil, err
	case list == nil || index < 0 || index >= len(list.value.members):
		return nil, nil, fmt.Errorf("%q has no item %d", name, index)
	}
	return list, &list.value.members[index], nil
}
