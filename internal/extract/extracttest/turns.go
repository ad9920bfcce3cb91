// Package extracttest reads the labelled turns that measure the extraction of statements.
package extracttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// HeldOut names the turns that no rule is written by. Their author, and that of the first of Development, had not
// seen the rules; the author of the rules wrote the second.
const HeldOut = "blind_heldout.jsonl"

// Development names the turns that rules are written by and weights are fitted to.
var Development = []string{"blind_development.jsonl", "turns.jsonl"}

// A Label is a statement that a person would keep of a turn. Of a response it is one under a mark: "Decision: ...".
type Label struct {
	Type string `json:"type"`
	From string `json:"from"` // prompt or response
	Key  string `json:"key"`  // the text that the extracted statement contains
}

// A Turn is a labelled turn. Previous is the answer before the prompt.
type Turn struct {
	ID       int     `json:"id"`
	Previous string  `json:"previous"`
	Prompt   string  `json:"prompt"`
	Response string  `json:"response"`
	Want     []Label `json:"want"`
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
