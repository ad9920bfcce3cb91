package setup

import (
	"errors"
	"maps"
	"reflect"

	"github.com/loci-memory/loci"
)

// A document is the text of a client's file. Value reads an entry; Set and Remove return the changed text.
type document interface {
	Value(container, name string) (value any, found bool, err error)
	Set(container, name string, entry []byte) ([]byte, error)
	Remove(container, name string) ([]byte, error)
}

// parse reads the text of a client's file. nil is that of a file which does not exist.
func (c *Client) parse(text []byte) (document, error) {
	if c.toml {
		return parseTOML(text)
	}
	return parseJSON(text)
}

// values returns all values of a text.
func (c *Client) values(text []byte) (map[string]any, error) {
	if !c.toml {
		return jsonValues(text)
	}
	d, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	return d.values, nil
}

// set returns the text with the entry, and makes sure that all else means what it meant.
func (c *Client) set(f candidate, name string, entry []byte) ([]byte, error) {
	var want any
	if err := decodeJSON(entry, &want); err != nil {
		return nil, err
	}
	after, err := f.Set(c.container, name, entry)
	if err != nil {
		return nil, err
	}
	return after, c.check(f.text, after, name, want)
}

// remove returns the text without the entry, and makes sure that all else means what it meant. It is nil if nothing
// remains.
func (c *Client) remove(f candidate, name string) ([]byte, error) {
	after, err := f.Remove(c.container, name)
	if err != nil {
		return nil, err
	}
	return after, c.check(f.text, after, name, nil)
}

// check compares the values of a text with those before a change of the entry, and the entry with the wanted one.
func (c *Client) check(before, after []byte, name string, want any) error {
	old, err := c.values(before)
	changed, err2 := c.values(after)
	if err = errors.Join(err, err2); err != nil {
		return notWritable(err)
	}
	c.take(old, name)
	if got := c.take(changed, name); !reflect.DeepEqual(got, want) || !sameValues(old, changed) {
		return notWritable(nil)
	}
	return nil
}

// take removes the entry from the values, and returns it. An empty container is the same as none.
func (c *Client) take(values map[string]any, name string) (entry any) {
	container, _ := values[c.container].(map[string]any)
	entry = container[name]
	delete(container, name)
	if len(container) == 0 {
		delete(values, c.container)
	}
	return entry
}

func sameValues(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(a, b any) bool { return reflect.DeepEqual(a, b) })
}

// notWritable reports a change that would alter other settings, or that the client could not read. Nothing was written.
func notWritable(err error) error {
	return &loci.Error{Code: loci.CodeInternalError, Err: err, Message: "Loci cannot change its entry without " +
		"changing other settings of the file. Change the entry by hand; nothing was changed."}
}
