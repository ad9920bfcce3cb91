package llm

import (
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
)

// decodeAnswer reads the statements of a response and the number of its tokens, or 0 where it has none. The errors show
// no part of it.
func decodeAnswer(body []byte) (list []extract.Statement, used int64, err error) {
	var a struct {
		Choices []struct {
			Message struct{ Content *string }
		}
		Usage struct {
			Total int64 `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, 0, extract.ErrMalformed
	}
	used = min(max(a.Usage.Total, 0), maxUsage)
	if len(a.Choices) == 0 || a.Choices[0].Message.Content == nil {
		return nil, used, extract.ErrMalformed
	}
	list, err = decodeStatements(*a.Choices[0].Message.Content)
	return list, used, err
}

// decodeStatements reads the object that the instruction asks for, or its list alone. Anything before or after it is an
// error, except the fence of a code block, which models add.
func decodeStatements(text string) ([]extract.Statement, error) {
	type item struct {
		Type loci.MemoryType `json:"type"`
		Text string          `json:"text"`
	}
	var answer struct {
		Statements *[]item `json:"statements"`
	}
	raw := []byte(withoutFence(text))
	var items []item
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		if json.Unmarshal(raw, &answer) != nil || answer.Statements == nil {
			return nil, extract.ErrMalformed
		}
		items = *answer.Statements
	}
	list := make([]extract.Statement, len(items))
	for i, x := range items {
		list[i] = extract.Statement{Text: x.Text, Type: x.Type}
	}
	return list, nil
}

// withoutFence returns the content of a text that is one fenced code block.
func withoutFence(text string) string {
	text = strings.TrimSpace(text)
	first, rest, ok := strings.Cut(text, "\n")
	if inner, closed := strings.CutSuffix(rest, "```"); ok && closed && (first == "```" || first == "```json") {
		return inner
	}
	return text
}
