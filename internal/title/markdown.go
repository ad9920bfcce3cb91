package title

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/loci-memory/loci"
)

// The blocks of a text are parsed first. The marks within a block are parsed only where its words are needed: so a
// text costs no more than its beginning.
var (
	blockParser = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	inlineParser = parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500))...))
)

// A scanner looks for a title in the blocks of a text.
type scanner struct {
	source  []byte
	context parser.Context
	first   string // the first heading or line of text
	seen    int    // characters of text
}

// scan returns the title of a text, and whether it is final: a text that is not whole may go on with one.
func scan(source string, whole bool) (title string, final bool) {
	s := scanner{source: []byte(source), context: parser.NewContext()}
	doc := blockParser.Parse(text.NewReader(s.source), parser.WithContext(s.context))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.NextSibling() == nil && !whole {
			return "", false // the block may go on
		}
		if t := s.block(n); t != "" {
			return t, true
		}
		if s.seen >= window {
			return s.first, true
		}
	}
	return s.first, whole
}

// block reads a block, and returns the text of the first level-1 heading within the window.
func (s *scanner) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Heading:
		heading := strings.Join(s.words(n), " ")
		if n.Level == 1 && s.seen < window && heading != "" {
			return heading
		}
		s.add(heading)
	case *ast.Paragraph, *ast.TextBlock:
		s.add(s.words(n)...)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		s.add(strings.Split(string(s.raw(n)), "\n")...)
	case *ast.HTMLBlock:
		if n.HTMLBlockType == ast.HTMLBlockType6 || n.HTMLBlockType == ast.HTMLBlockType7 {
			s.add(strings.Split(withoutTags(string(s.raw(n))), "\n")...)
		}
	default: // a container
		for c := n.FirstChild(); c != nil && s.seen < window; c = c.NextSibling() {
			if t := s.block(c); t != "" {
				return t
			}
		}
	}
	return ""
}

// add counts lines of text. The first one with a visible character may become the title.
func (s *scanner) add(lines ...string) {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if s.first == "" && strings.ContainsFunc(line, loci.IsVisible) {
			s.first = line
		}
	}
	s.seen += count(lines)
}

// maxBlock bounds the bytes of a block whose marks are parsed.
const maxBlock = 8 << 10

// raw returns the source of a block.
func (s *scanner) raw(n ast.Node) []byte {
	var b bytes.Buffer
	lines := n.Lines()
	for i := 0; i < lines.Len() && b.Len() < maxBlock; i++ {
		at := lines.At(i)
		b.Write(at.Value(s.source))
	}
	return b.Bytes()
}

// marks are the characters that inline Markdown begins with.
const marks = "\\`*_~[]<&!"

// tableOfContents are lines that tools replace by a table of contents.
var tableOfContents = []string{"[toc]", "[[toc]]", "[[_toc_]]"}

// words returns the lines of a block without inline marks.
func (s *scanner) words(n ast.Node) (lines []string) {
	raw := s.raw(n)
	if item := n.Parent(); item != nil && item.Kind() == ast.KindListItem && n == item.FirstChild() {
		raw = taskBox.ReplaceAll(raw, nil)
	}
	if quote := n.Parent(); quote != nil && quote.Kind() == ast.KindBlockquote && n == quote.FirstChild() {
		raw = callout.ReplaceAll(raw, nil)
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !slices.Contains(tableOfContents, strings.ToLower(string(line))) {
			kept.Write(line)
			kept.WriteByte('\n')
		}
	}
	text := kept.String()
	if strings.ContainsAny(text, marks) {
		text = s.withoutMarks(kept.Bytes())
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// callout marks a quote as a note or a warning: [!NOTE].
var callout = regexp.MustCompile(`^\s*\[!\w+\][+-]?[ \t]*`)

var taskBox = regexp.MustCompile(`^\s*\[[ xX]\]\s+`)

// An inlineContext is the context of one block, with the link references of the whole text.
type inlineContext struct {
	parser.Context
	text parser.Context
}

// Reference returns the link reference of a label.
func (c inlineContext) Reference(label string) (parser.Reference, bool) {
	return c.text.Reference(label)
}

// withoutMarks returns a text without inline marks. Links become their words, images nothing.
func (s *scanner) withoutMarks(source []byte) string {
	context := inlineContext{parser.NewContext(), s.context}
	doc := inlineParser.Parse(text.NewReader(source), parser.WithContext(context))
	var b strings.Builder
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			writeText(&b, n, source)
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.RawHTML:
			b.WriteString(withoutTags(string(n.Segments.Value(source))))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func writeText(b *strings.Builder, n *ast.Text, source []byte) {
	value := n.Segment.Value(source)
	if n.Parent().Kind() != ast.KindCodeSpan {
		value = util.UnescapePunctuations(resolveEntities(value))
	}
	b.Write(value)
	if n.SoftLineBreak() || n.HardLineBreak() {
		b.WriteByte('\n')
	}
}

// A tag or comment of HTML. The name of a tag is in lower case: List<String> is no tag.
var htmlTag = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)|</?(?:a|abbr|article|aside|audio|b|big|blockquote|body|br|button|` +
	`caption|center|cite|code|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|` +
	`html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|p|picture|pre|q|s|samp|section|small|source|` +
	`span|strike|strong|sub|summary|sup|svg|table|tbody|td|tfoot|th|thead|title|tr|tt|u|ul|var|video)(?:\s[^<>]*)?/?>`)

// withoutTags returns a text without the comments and tags of HTML.
func withoutTags(text string) string {
	return string(resolveEntities(htmlTag.ReplaceAll([]byte(text), nil)))
}

func resolveEntities(text []byte) []byte {
	return util.ResolveEntityNames(util.ResolveNumericReferences(text))
}
