package listen

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/cli/command"
)

// shellOnly are characters that have a meaning in a shell where they are not quoted.
const shellOnly = "|&;<>()$`"

// splitWords splits a command line into words as a POSIX shell does (Shell Command Language, section 2.2), without
// expansions. It refuses unquoted characters that would have a meaning in a shell.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
			continue
		case c == '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, unclosed(c)
			}
			word.WriteString(line[i+1 : i+1+end])
			i += end + 1
		case c == '"':
			end, err := quoted(&word, line[i+1:])
			if err != nil {
				return nil, err
			}
			i += end + 1
		case c == '\\':
			if i++; i == len(line) {
				return nil, command.UsageError(`--exec ends with a backslash: write \\ for one`)
			}
			word.WriteByte(line[i])
		case strings.IndexByte(shellOnly, c) >= 0 || c == '~' && !inWord:
			return nil, needsShell(c)
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, command.UsageError("--exec names no command: for example --exec ./handle-message")
	}
	return words, nil
}

// quoted writes a text in double quotes, and returns the index of its end.
func quoted(word *strings.Builder, text string) (end int, err error) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i, nil
		case c == '$' || c == '`':
			return 0, needsShell(c)
		case c == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0:
			i++
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, unclosed('"')
}

func unclosed(quote byte) error {
	return command.UsageError(fmt.Sprintf("--exec has a %c without its end", quote))
}

func needsShell(c byte) error {
	return command.UsageError(fmt.Sprintf("--exec runs no shell, in which %c has a meaning: quote it, write a script, "+
		"or use --exec 'sh -c \"...\"'", c))
}
