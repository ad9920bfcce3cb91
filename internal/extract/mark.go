package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
)

// A mark opens a statement of an answer: "Decision: ...". The list is closed, because other words before a colon
// introduce reports and explanations.
type mark struct {
	name string          // in English, as the table of cues knows it
	kind loci.MemoryType // of its statements; if empty, their words decide
	// withoutColon is set for a mark that may begin a sentence without a colon, as a part of it.
	withoutColon bool
	names        string // English, German, French, Spanish, Portuguese, Russian, Chinese and Japanese, in lower case
}

var marks, openings = indexMarks([]mark{
	{"decision", loci.TypeDecision, false, "decision|decisions|decided|we decided|final decision|decision made|" +
		"entscheidung|entscheidungen|entschieden|beschluss|beschlossen|" +
		"décision|décisions|décidé|décision prise|décision finale|" +
		"decisión|decisiones|decidido|decisión tomada|decisión final|" +
		"decisão|decisões|decisão tomada|decisão final|" +
		"решение|решено|принято решение|принятое решение|итоговое решение|" +
		"决定|决策|已决定|最终决定|決定|決策|最終決定|決定事項"},
	{"root cause", loci.TypeFact, false, "root cause|the root cause|root causes|underlying cause|" +
		"ursache|grundursache|hauptursache|cause racine|cause première|cause profonde|" +
		"causa raíz|causa raiz|causa principal|" +
		"первопричина|корневая причина|коренная причина|основная причина|" +
		"根本原因|根因|问题根源|問題根源|真因"},
	{"remember", "", false, "remember|please remember|merke|merken|bitte merken|nicht vergessen|" +
		"à retenir|retenir|souviens-toi|souvenez-vous|n'oublie pas|n'oubliez pas|" +
		"recuerda|recuerde|recordar|no olvidar|no olvides|" +
		"lembre-se|lembre|lembrar|lembra-te|não esquecer|não esqueça|" +
		"запомни|запомните|запомнить|помни|помните|не забыть|" +
		"记住|请记住|記住|請記住|切记|切記|" +
		"覚えておくこと|覚えておいて|覚えておいてください|忘れないこと"},
	{"from now on", "", true, "from now on|from here on|from today on|going forward|henceforth|" +
		"ab jetzt|ab sofort|von jetzt an|von nun an|" +
		"à partir de maintenant|à partir d'aujourd'hui|dorénavant|" +
		"a partir de ahora|a partir de hoy|de ahora en adelante|" +
		"a partir de agora|a partir de hoje|de agora em diante|daqui em diante|doravante|" +
		"отныне|впредь|с этого момента|с сегодняшнего дня|" +
		"从现在起|从现在开始|从今以后|从今天起|即日起|從現在起|從現在開始|今後は|これからは"},
})

// indexMarks returns the marks by their names, and the names that begin a sentence without a colon.
func indexMarks(list []mark) (byName map[string]*mark, openings []string) {
	byName = map[string]*mark{}
	for n := range list {
		names := strings.Split(list[n].names, "|")
		for _, name := range names {
			byName[name] = &list[n]
		}
		if list[n].withoutColon {
			openings = append(openings, names...)
		}
	}
	return byName, openings
}

// guesses are words of what is not settled. The others are looked up in scripts without spaces.
var (
	guesses = padded("pending|none|not found|not decided|still looking|" +
		"maybe|perhaps|probably|possibly|presumably|might|likely|seems|not sure|my guess|could be|" +
		"still unknown|not known|unclear|undecided|tbd|to be decided|not yet|we could|" +
		"i suspect|i suggest|i propose|i recommend|i think|hypothesis|" +
		"vielleicht|vermutlich|wahrscheinlich|möglicherweise|eventuell|wohl|könnte|könnten|noch offen|unklar|" +
		"peut-être|probablement|sans doute|pourrait|pourraient|semble|" +
		"quizás|quizá|tal vez|probablemente|posiblemente|podría|podrían|parece|" +
		"talvez|provavelmente|possivelmente|poderia|poderiam|" +
		"возможно|вероятно|наверное|похоже|скорее всего|может быть|видимо|пока неизвестно")
	unspacedGuesses = []string{"可能是", "可能会", "可能會", "可能有", "可能因", "可能由", "可能性", "很可能", "有可能",
		"也许", "也許", "大概", "或许", "或許", "待定", "かもしれ", "おそらく", "恐らく", "たぶん", "思われ", "不明", "未定"}
)

// maxMarked bounds the statements of an answer that are compared with others.
const maxMarked = 64

// orders are words of prompts that hand over a text to be worked on, or order one that means nothing.
var (
	orders = padded("translate|translation|rephrase|proofread|poem|act as|pretend|play the|rubber duck|role play|" +
		"thought experiment|short story|write a story|tell a story|draft a letter|draft an email|" +
		"übersetze|übersetz|übersetzen|traduis|traduire|traduisez|traduce|traducir|traduzca|traduz|traduza|traduzir|" +
		"переведи|переведите|перевести")
	unspacedOrders = []string{"翻译", "翻譯", "翻訳", "訳して"}
)

// isMadeToOrder reports whether a prompt orders a translation, a draft or a story.
func isMadeToOrder(prompt string) bool {
	return containsOf(" "+strings.Join(lowerWords(prompt), " ")+" ", orders) || containsOf(prompt, unspacedOrders)
}

// lowerWords returns the words of a text in lower case.
func lowerWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !strings.ContainsRune("'-", r)
	})
}

// markedStatements returns what the visible lines of an answer state under a mark. A mark on a line of its own has the
// first statement below it.
func markedStatements(text string) (list []Statement) {
	var above *mark
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, isHeading := colonForm(line)
		if isHeading || rest == "" && line != "" { // a rule between sections
			above = nil
		}
		for rest != "" {
			end := sentenceEnd(rest)
			said := strings.TrimSpace(rest[:end])
			rest = strings.TrimSpace(rest[end:])
			m, behind := cutMark(said)
			if m != nil {
				said = behind
			} else {
				m = above
			}
			if above = nil; m != nil && said == "" {
				above = m
			} else if m != nil && isSettled(said) {
				list = append(list, Statement{Text: said, Type: m.kindOf(said)})
				if len(list) == maxMarked {
					return list
				}
			}
		}
	}
	return list
}

// colonForm returns a line without marks of lists, headings and emphasis. A mark in bold or as a heading gets a colon.
func colonForm(line string) (plain string, isHeading bool) {
	bare := strings.TrimLeftFunc(line, isOrnament)
	before := line[:len(line)-len(bare)]
	for _, bold := range []string{"**", "__"} {
		name, rest, ok := strings.Cut(bare, bold)
		m := marks[markName(name)]
		if !ok || m == nil || !strings.HasSuffix(before, bold) {
			continue
		}
		behind := strings.TrimLeft(rest, " :：—–-")
		bare = name + rest
		hasColon := strings.ContainsAny(bare[:len(bare)-len(behind)], ":：—–")
		if !m.withoutColon || behind == "" || hasColon {
			bare = markName(name) + ": " + behind
		}
	}
	plain = strings.TrimSpace(strings.ReplaceAll(bare, "**", ""))
	if isHeading = strings.HasPrefix(line, "#"); isHeading && marks[markName(plain)] != nil {
		plain += ":"
	}
	return plain, isHeading
}

// isOrnament reports whether a character may stand before a mark: of a list, a heading, emphasis, or an emoji.
func isOrnament(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("-*#•_[].)0123456789", r) ||
		unicode.In(r, unicode.So, unicode.Mn, unicode.Cf)
}

// markName returns a text in the form of the names of marks.
func markName(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.Trim(s, " :：*_\u00a0\u202f")), "’", "'")
}

// longestMark bounds the bytes before the colon of a mark.
const longestMark = 64

// cutMark returns the mark that begins a sentence and the text behind it. A mark without a colon is a part of the text.
func cutMark(sentence string) (m *mark, behind string) {
	head := sentence[:min(len(sentence), longestMark)]
	if at := strings.IndexAny(head, ":："); at >= 0 && marks[markName(head[:at])] != nil {
		_, width := utf8.DecodeRuneInString(head[at:])
		behind = strings.TrimPrefix(strings.TrimPrefix(sentence[at+width:], "* "), "_ ")
		return marks[markName(head[:at])], strings.TrimSpace(behind)
	}
	lower := markName(head)
	for _, name := range openings {
		if rest, ok := strings.CutPrefix(lower, name); ok && endsWord(name, rest) {
			return marks[name], sentence
		}
	}
	return nil, ""
}

// endsWord reports whether a name ends at the end of a word. Scripts without spaces have it everywhere.
func endsWord(name, rest string) bool {
	last, _ := utf8.DecodeLastRuneInString(name)
	next, _ := utf8.DecodeRuneInString(rest)
	return rest != "" && (last >= firstUnspaced || !unicode.IsLetter(next))
}

// firstUnspaced is the first character of the scripts of Chinese and Japanese.
const firstUnspaced = 0x2e80

// isSettled reports whether a text is a statement of a sensible length: no question, no guess, no line above a list.
func isSettled(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	isUnspaced := func(r rune) bool { return r >= firstUnspaced }
	isWord := !strings.Contains(text, " ") && (len(text) < minModelStatement || !strings.ContainsFunc(text, isUnspaced))
	if isWord || !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxSentence ||
		strings.ContainsRune("?？:：", last) {
		return false
	}
	return !containsOf(" "+strings.Join(lowerWords(text), " ")+" ", guesses) && !containsOf(text, unspacedGuesses)
}

// kindOf returns the type of a statement under the mark. The table of cues reads the name of the mark before it.
func (m *mark) kindOf(text string) loci.MemoryType {
	if m.kind != "" {
		return m.kind
	}
	s := sentence{text: m.name + ": " + text}
	s.read()
	s.features.set(inPrompt, true)
	return s.features.kind()
}
