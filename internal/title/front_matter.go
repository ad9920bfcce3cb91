package title

import (
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// The first line of front matter after its mark, and the field of the title. A text that merely begins with a thematic
// break has neither.
var (
	yamlField = regexp.MustCompile(`^(#|["']?[\pL_][^:]*:(\s|$))`)
	tomlField = regexp.MustCompile(`^\s*(#|\[|["']?[\w-]+["']?(\.[\w-]+)*\s*=)`)
	yamlTitle = regexp.MustCompile(`^["']?title["']?\s*:(\s|$)`)
	tomlTitle = regexp.MustCompile(`^\s*["']?title["']?\s*=`)
)

// maxTitleLines bounds the lines of a title in front matter.
const maxTitleLines = 16

// cutFrontMatter returns the title in the YAML or TOML front matter of a text, if any, and the text behind it.
func cutFrontMatter(text string) (title, rest string) {
	first, rest, _ := strings.Cut(text, "\n")
	mark := strings.TrimRight(first, " \t\r")
	isYAML := mark == "---"
	if !isYAML && mark != "+++" {
		return "", text
	}
	isField, isTitle, parse := tomlField, tomlTitle, parseTOML
	if isYAML {
		isField, isTitle, parse = yamlField, yamlTitle, parseYAML
	}
	var field []string
	began, ended := false, false
	for n := 0; rest != ""; n++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t\r")
		switch {
		case line == mark, isYAML && line == "...":
			return parse(strings.Join(field, "\n")), rest
		case n == 0 && !isField.MatchString(bounded(line)):
			return "", text
		case !isYAML && strings.HasPrefix(strings.TrimSpace(line), "["):
			ended = true // the fields of a table
		case !began && !ended && isTitle.MatchString(bounded(line)):
			began, field = true, append(field, bounded(line))
		case began && !ended && len(field) < maxTitleLines && isYAML &&
			(line == "" || line[0] == ' ' || line[0] == '\t'):
			field = append(field, bounded(line))
		case began:
			ended = true
		}
	}
	return "", text // nothing closes it
}

// bounded returns the beginning of a line, which is enough for a title.
func bounded(line string) string { return line[:min(len(line), maxRaw)] }

// parseYAML returns the value of a YAML field. One that YAML refuses, such as a template, is taken as it is.
func parseYAML(field string) string {
	var list map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(field), &list); err != nil {
		return afterMark(field, ":")
	}
	v := list["title"]
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
		return ""
	}
	return v.Value
}

// parseTOML returns the value of a TOML field. One that TOML refuses is taken as it is.
func parseTOML(field string) string {
	var v struct{ Title any }
	if _, err := toml.Decode(field, &v); err != nil {
		return afterMark(field, "=")
	}
	s, _ := v.Title.(string)
	return s
}

func afterMark(field, mark string) string {
	_, value, _ := strings.Cut(field, mark)
	return strings.Trim(value, ` "'`)
}
