package markdown

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestTextsAreRendered(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# One\n\n###### Six":        "<h2>One</h2>\n<h6>Six</h6>\n",
		"a <script>x</script>":       "<p>a &lt;script&gt;x&lt;/script&gt;</p>\n",
		"<div onclick=x>\n*a*":       "<p>&lt;div onclick=x&gt;\n<em>a</em></p>\n",
		"[a](https://b.c \"t\")":     `<p><a rel="noopener nofollow" href="https://b.c">a</a></p>` + "\n",
		"[a](javascript:x)":          "<p>a</p>\n",
		"[a](/signout)":              "<p>a</p>\n",
		"![*p*](http://x/p.png)":     `<p><a rel="noopener nofollow" href="http://x/p.png">p</a></p>` + "\n",
		"[![p](http://x)](http://y)": `<p><a rel="noopener nofollow" href="http://y">p</a></p>` + "\n",
		"![p](data:image/png;x)":     "<p>p</p>\n",
		"- [x] a\n- [ ] b":           "<ul>\n<li>☑ a</li>\n<li>☐ b</li>\n</ul>\n",
		"```go\na<b\n```":            `<pre tabindex="0"><code>a&lt;b` + "\n</code></pre>\n",
		"|a|\n|-:|\n|b|": `<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>` +
			"\n<thead>\n<tr>\n<th align=\"right\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\">b</td>" +
			"\n</tr>\n</tbody>\n</table></div>\n",
		strings.Repeat(">", 99) + "a": `<pre tabindex="0">` + strings.Repeat("&gt;", 99) + "a</pre>",
		strings.Repeat("-", 1000):     "<hr>\n",
	} {
		testenv.Equal(t, string(HTML(text)), want, text)
	}
}

// Texts that cost the square of their length, or much memory, are shown as they are. Those of people are rendered.
func TestCostlyTextsAreNotParsed(t *testing.T) {
	t.Parallel()
	table := strings.Repeat("a|", 20) + "\n" + strings.Repeat("-|", 20) + "\n" + strings.Repeat("b|\n", 2000)
	for name, text := range map[string]string{
		"cells of short rows": strings.Repeat("a|", 4095) + "a\n" + strings.Repeat("-|", 4095) + "-\n" +
			strings.Repeat("a\n", 8000),
		"a long reference": "[a]: http://" + strings.Repeat("b", 200_000) + "\n\n" + strings.Repeat("[a] ", 8000),
		"a reference in the next line": "[a]:\nhttp://" + strings.Repeat("b", 200_000) + "\n\n" +
			strings.Repeat("[a] ", 8000),
		"emphasis without an end": strings.Repeat("_a ", 43_000) + strings.Repeat("a* ", 43_000),
		"escaped pipes":           strings.Repeat("`\\|` ", 50_000),
		"code without an end":     strings.Repeat(strings.Repeat("`", 400)+"a", 600),
	} {
		if got := string(HTML(text)); !strings.HasPrefix(got, "<pre") {
			t.Errorf("%s: %d bytes become %d", name, len(text), len(got))
		}
	}
	for name, text := range map[string]string{"a table": table, "snake case": strings.Repeat("a_b_c is here. ", 2000),
		"links": strings.Repeat("See [the page](https://a.example/b).\n", 3000)} {
		if got := string(HTML(text)); strings.HasPrefix(got, "<pre") {
			t.Errorf("%s: %d bytes are not rendered", name, len(text))
		}
	}
}

// elements are those that a rendered text may hold, with their attributes.
var elements = map[string][]string{"a": {"href", "rel"}, "ol": {"start"}, "th": {"align"}, "td": {"align"},
	"pre": {"tabindex"}, "div": {"class", "tabindex", "role", "aria-label"}, "html": nil, "head": nil, "body": nil,
	"p": nil, "br": nil, "hr": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "blockquote": nil,
	"code": nil, "em": nil, "strong": nil, "del": nil, "ul": nil, "li": nil, "table": nil, "thead": nil,
	"tbody": nil, "tr": nil}

// FuzzHTML parses what was rendered as a browser does: it holds allowed elements, attributes and schemes alone.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{"# a\n<script>alert(1)</script>", "[a](javascript:alert(1))", "![a](data:x,y)",
		"<img src=x onerror=y>", "|a|\n|-|\n|<b>|", "a\u202eb\x00", "[x]: javascript:y\n[x]", "<javascript:x>",
		"<a href='x'>", "www.a.b?<script>", "&lt;script&gt;&#x3c;img src=x&#62;",
		"`<b>`\n\n    <i>", "- [x] a\n> > 1. b",
		"[a](http://x\"onclick=y)", "~~<svg/onload=z>~~", "<!--x--><![CDATA[<b>]]>", "http://a\" onload=\"x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := html.Parse(strings.NewReader(string(HTML(text))))
		testenv.NoError(t, err)
		for n := range root.Descendants() {
			switch n.Type {
			case html.ElementNode:
			case html.CommentNode, html.DoctypeNode, html.RawNode:
				t.Errorf("%q has %q", text, n.Data)
				continue
			default:
				continue
			}
			allowed, ok := elements[n.Data]
			if !ok {
				t.Errorf("%q has the element %s", text, n.Data)
			}
			for _, a := range n.Attr {
				if !slices.Contains(allowed, a.Key) {
					t.Errorf("%q has the attribute %s of %s", text, a.Key, n.Data)
				}
				if a.Key != "href" {
					continue
				}
				if u, err := url.Parse(a.Val); err != nil || !slices.Contains([]string{"http", "https", "mailto"},
					u.Scheme) {
					t.Errorf("%q links to %q", text, a.Val)
				}
			}
		}
	})
}
