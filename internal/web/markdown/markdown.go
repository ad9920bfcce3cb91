// Package markdown renders the texts of memories for pages. A text is written by strangers: its HTML is shown as text,
// its pictures become links, and the page shows and loads nothing but text.
package markdown

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// Bounds of what is rendered. Texts beyond them are shown as they are.
const (
	maxBytes    = 256 << 10
	maxDepth    = 60   // marks of quotes and lists at the beginning of a line
	maxBrackets = 8192 // that may begin a link: each looks for its end

	// Sums over the blocks between empty lines.
	maxCells = 1 << 16 // of tables: each row has as many as the widest
	maxPairs = 1 << 26 // squares of the marks of emphasis in a block: each looks for its partner in all before it
	maxScans = 1 << 26 // bytes that the marks of code in a block look through for their end
)

// maxOutput bounds the HTML of a text of n bytes. A quotation mark takes six; a reference repeats its address.
func maxOutput(n int) int { return 8*n + 1<<20 }

// converter is GitHub Flavored Markdown without HTML: the parsers of blocks and marks are the default ones but for it.
var converter = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200), util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400), util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800), util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200), util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500)),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))),
	goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 100))))

// policy is what a rendered text may hold, whatever the converter writes.
var policy = func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "del",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("align").Matching(bluemonday.CellAlign).OnElements("th", "td")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	return p
}()

// finish adds what readers by keyboard and of screens need. In sanitized HTML these strings are elements alone.
var finish = strings.NewReplacer("<a href=", `<a rel="noopener nofollow" href=`, "<pre>", `<pre tabindex="0">`,
	"<table>", `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>")

// HTML renders a text. Its headings begin below that of the page.
func HTML(text string) template.HTML {
	b := boundedBuffer{most: maxOutput(len(text))}
	if len(text) > maxBytes || tooDeep(text) || tooCostly(text) || converter.Convert([]byte(text), &b) != nil {
		return template.HTML(`<pre tabindex="0">` + template.HTMLEscapeString(text) + "</pre>")
	}
	return template.HTML(finish.Replace(string(policy.SanitizeBytes(b.Bytes()))))
}

// A boundedBuffer refuses to grow beyond a size.
type boundedBuffer struct {
	bytes.Buffer
	most int
}

// Write appends to the buffer, or returns an error.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, bytes.ErrTooLarge
	}
	return b.Buffer.Write(p)
}

// tooCostly reports whether the parser needs much more time or memory for a text than people's texts do.
func tooCostly(text string) bool {
	var cells, pairs, scans, longest int
	var lines, columns, marks, ticks, size int // of the block
	end := func() {
		if columns > 1 {
			cells += lines * columns
		}
		pairs += marks * marks
		scans += ticks * size
		lines, columns, marks, ticks, size = 0, 0, 0, 0, 0
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			end()
			continue
		}
		lines++
		size += len(line)
		longest = max(longest, len(line))
		columns = max(columns, strings.Count(line, "|")+1)
		before := byte(0)
		for i := range len(line) {
			c := line[i]
			switch {
			case c == '|' && before == '\\', strings.IndexByte("*_~", c) >= 0 && c != before:
				marks++
			case c == '`' && c != before:
				ticks++
			}
			before = c
		}
	}
	end()
	links := strings.Count(text, "[") * longest // each may have the address of a reference
	return cells > maxCells || pairs > maxPairs || scans > maxScans || links > maxScans
}

// tooDeep reports whether a text nests deeper than people write, which costs the square of its length.
func tooDeep(text string) bool {
	if strings.Count(text, "[") > maxBrackets {
		return true
	}
	for line := range strings.Lines(text) {
		depth := 0
		for _, c := range line {
			if strings.ContainsRune(">-+*.)", c) {
				depth++
			} else if c != ' ' && c != '\t' && (c < '0' || c > '9') {
				break
			}
		}
		if depth > maxDepth && strings.Trim(line, "-*_ \t\r\n=") != "" {
			return true
		}
	}
	return false
}

// nodes renders what is another thing here than elsewhere.
type nodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, renderImage)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(extast.KindTaskCheckBox, renderCheckBox)
}

// renderImage writes a link to the picture. Within a link only its text is left.
func renderImage(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	address := n.(*ast.Image).Destination
	var label bytes.Buffer
	_ = ast.Walk(n, func(child ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, ok := child.(*ast.Text); ok && entering {
			label.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	if label.Len() == 0 {
		label.Write(address)
	}
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink {
			_, err := w.Write(util.EscapeHTML(label.Bytes()))
			return ast.WalkSkipChildren, err
		}
	}
	_, err := w.WriteString(`<a href="` + string(util.EscapeHTML(util.URLEscape(address, true))) + `">` +
		string(util.EscapeHTML(label.Bytes())) + "</a>")
	return ast.WalkSkipChildren, err
}

// renderHeading writes a heading one level lower.
func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	begin, end := "<h", ">"
	if !entering {
		begin, end = "</h", ">\n"
	}
	_, err := w.WriteString(begin + string('0'+rune(min(n.(*ast.Heading).Level+1, 6))) + end)
	return ast.WalkContinue, err
}

// renderCheckBox writes the state of a task as a character.
func renderCheckBox(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	box := "☐ "
	if n.(*extast.TaskCheckBox).IsChecked {
		box = "☑ "
	}
	_, err := w.WriteString(box)
	return ast.WalkContinue, err
}
