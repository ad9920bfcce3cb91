// Package extracttest reads the labelled turns that measure the extraction of statements.
package extracttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
)

// A Label is a statement that a person would keep of a turn.
type Label struct {
	Type string `json:"type"`
	From string `json:"from"` // prompt or response
	Key  string `json:"key"`  // the text that the drawn statement contains
}

// A Turn is a labelled turn. Previous is the answer before the prompt.
type Turn struct {
	ID       int     `json:"id"`
	SaidOn   string  `json:"saidOn"`
	Previous string  `json:"previous"`
	Prompt   string  `json:"prompt"`
	Response string  `json:"response"`
	Want     []Label `json:"want"`
}

// HeldOut tells whether a turn belongs to the half that no rule was written by.
func (t Turn) HeldOut() bool {
	h := fnv.New32a()
	fmt.Fprintf(h, "turn %d", t.ID)
	return h.Sum32()>>7&1 == 1
}

// Load reads labelled turns, one JSON object a line.
func Load(path string) (list []Turn, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return list, lines.Err()
		}
		var t Turn
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, t)
	}
}
