package setup

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/setup/jsonc"
	"github.com/loci-memory/loci/internal/setup/tomltable"
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
		d, err := tomltable.Parse(text)
		return tomlDocument{d}, err
	}
	return jsonc.Parse(text)
}

// A tomlDocument takes entries as JSON.
type tomlDocument struct{ *tomltable.Document }

// Set writes each member of the entry in a line.
func (d tomlDocument) Set(container, name string, entry []byte) ([]byte, error) {
	lines, err := tomlMembers(entry)
	if err != nil {
		return nil, err
	}
	return d.Document.Set(container, name, lines)
}

// tomlMembers returns the members of a JSON object as TOML. Texts and lists of texts are the same in both; an object
// becomes an inline table.
func tomlMembers(object []byte) (members []string, err error) {
	in := json.NewDecoder(bytes.NewReader(object))
	_, err = in.Token()
	for err == nil && in.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = in.Token(); err == nil {
			err = in.Decode(&value)
		}
		if err == nil && value[0] == '{' {
			var inner []string
			inner, err = tomlMembers(value)
			value = []byte("{ " + strings.Join(inner, ", ") + " }")
		}
		if err == nil {
			members = append(members, key.(string)+" = "+string(value))
		}
	}
	return members, err
}

// set returns the text with the entry, and makes sure that all else means what it meant.
func (c *Client) set(d document, name string, entry []byte) ([]byte, error) {
	after, err := d.Set(c.container, name, entry)
	if err != nil {
		return nil, err
	}
	changed, err := c.parse(after)
	if err != nil {
		return nil, notWritable(err)
	}
	var want any
	got, _, err := changed.Value(c.container, name)
	if json.Unmarshal(entry, &want) != nil || err != nil || !reflect.DeepEqual(got, want) {
		return nil, notWritable(err)
	}
	return after, nil
}

// remove returns the text without the entry, and makes sure that the client can read it. It is nil if nothing remains.
func (c *Client) remove(d document, name string) ([]byte, error) {
	after, err := d.Remove(c.container, name)
	if err != nil || after == nil {
		return nil, err
	}
	changed, err := c.parse(after)
	if err != nil {
		return nil, notWritable(err)
	}
	if _, found, err := changed.Value(c.container, name); found || err != nil {
		return nil, notWritable(err)
	}
	return after, nil
}

// notWritable reports a text that the editors do not understand. Nothing was written.
func notWritable(err error) error {
	return &loci.Error{Code: loci.CodeInternalError, Err: err,
		Message: "The file cannot be changed so that its client can read it."}
}
