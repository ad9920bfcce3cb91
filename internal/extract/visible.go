package extract

import "strings"

// foreignTags are the elements whose text is of tools, of reasoning or of the agent's frame.
var foreignTags = wordSet("think thinking reasoning reflection system-reminder system tool tool_result tool_use " +
	"tool_output function_results function_calls output stdout stderr local-command-stdout command-name " +
	"command-message command-args bash-input bash-stdout bash-stderr environment_context user_instructions")

// logStarts begin the first line of pasted output, which ends at an empty line.
var logStarts = []string{"fail", "--- fail", "=== run", "pass ", "ok  \t", "traceback", "panic:", "npm err", "npm warn",
	"level=", "time=", "ts=", "error", "warning:", "warn ", "info ", "debug ", "diff --git", "on branch", "goroutine ",
	"at ", "file \"", "exception", "caused by", "fatal:", "[error", "[info", "[warn", "$ ", "linux ", "{", "["}

// visibleLines returns the text without elements of tools, fences, code, quotations and pasted output.
func visibleLines(text string) string {
	var b strings.Builder
	opened, inLog := "", false
	for line := range strings.Lines(withoutForeignTags(text)) {
		bare := strings.TrimSpace(line)
		switch mark := fenceMark(bare); {
		case opened != "":
			if strings.HasPrefix(bare, opened) && strings.Trim(bare, opened[:1]) == "" {
				opened = ""
			}
		case mark != "":
			opened = mark
		case bare == "":
			inLog = false
			b.WriteByte('\n')
		case inLog || startsLog(bare):
			inLog = true
		case !isQuoted(line, bare):
			b.WriteString(bare + "\n")
		}
	}
	return b.String()
}

// fenceMark returns the run of backticks or tildes that opens a fenced block.
func fenceMark(line string) string {
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return ""
	}
	return line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
}

// isQuoted reports whether a line is of a quotation, a table, indented code, or a quoted memory.
func isQuoted(line, bare string) bool {
	return strings.ContainsRune("><|+/", rune(bare[0])) && bare != "+1" || strings.HasPrefix(line, "    ") ||
		strings.HasPrefix(line, "\t") || strings.Contains(line, "│") || strings.Contains(line, "quoted as data")
}

func startsLog(line string) bool {
	if hasPrefixOf(lowerASCII(line), logStarts) && !strings.HasPrefix(line, "[REDACTED:") {
		return true
	}
	return len(line) > 10 && line[0] >= '0' && line[0] <= '9' && line[4] == '-' && line[7] == '-'
}

// withoutForeignTags removes the foreign elements. One that is not closed reaches to the end.
func withoutForeignTags(text string) string {
	var b strings.Builder
	lower := lowerASCII(text)
	for pos := 0; ; {
		n := strings.IndexByte(lower[pos:], '<')
		if n < 0 {
			return b.String() + text[pos:]
		}
		start := pos + n
		b.WriteString(text[pos:start])
		name := tagName(lower[start+1:])
		if !foreignTags[name] {
			b.WriteByte('<')
			pos = start + 1
			continue
		}
		end := strings.Index(lower[start:], "</"+name)
		if end < 0 {
			return b.String()
		}
		pos = start + end + len("</"+name)
		if n := strings.IndexByte(lower[pos:], '>'); n == 0 {
			pos++
		}
		b.WriteByte('\n')
	}
}

func tagName(s string) string {
	end := 0
	for end < len(s) && end < 32 && (s[end] >= 'a' && s[end] <= 'z' || s[end] == '-' || s[end] == '_') {
		end++
	}
	return s[:end]
}

// lowerASCII lowers letters of ASCII and keeps every other byte, so offsets hold for both texts.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lowerByte(c)
	}
	return string(b)
}
