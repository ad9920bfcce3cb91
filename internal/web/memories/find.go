package memories

import (
	"strings"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

// A find is what a search or a list shows.
type find struct {
	All                                 bool // a list, which can be sorted
	Query, Tag, NoTag                   string
	Workspaces, Atlases, Types, Periods []web.Choice
	Include                             string
	Hits                                []hit
	Meta                                loci.SearchMeta
	Next                                string // address of the next page
	Narrow                              bool   // a filter limits the result
	Later                               bool   // the page is not the first one
}

// A hit is a memory in a result.
type hit struct {
	loci.Memory
	Kind, Author, Workspace, Atlas, Why string
	Snippet                             []part
}

// A part is a piece of a snippet; a marked one is a word of the query.
type part struct {
	Text   string
	Marked bool
}

func readHome(v *web.Visit) error { return readFind(v, &find{}) }
func readList(v *web.Visit) error { return readFind(v, &find{All: true}) }

func readFind(v *web.Visit, f *find) error {
	f.Query, f.Tag, f.Include = v.Values["query"], v.Values["tags"], v.Values["include"]
	f.Types, f.NoTag = web.TypeChoices(v.Values["type"]), v.Link("tags", "", "cursor", "")
	f.Later = v.Values["cursor"] != ""
	for _, p := range []web.Choice{{Value: "7d", Label: "Last 7 days"}, {Value: "4w", Label: "Last 4 weeks"},
		{Value: "52w", Label: "Last year"}} {
		p.Chosen = p.Value == v.Values["since"]
		f.Periods = append(f.Periods, p)
	}
	v.Data = f
	spaces, err := web.Read[loci.Workspaces](v, "workspace.list", "limit", "100")
	if err != nil {
		return err
	}
	people, places := web.Names{}, map[loci.ID]string{}
	for _, w := range spaces.Workspaces {
		chosen := string(w.ID) == v.Values["workspace_id"]
		f.Workspaces = append(f.Workspaces, web.Choice{Value: string(w.ID), Label: w.Name, Chosen: chosen})
		places[w.ID] = w.Name
		if !chosen {
			continue
		}
		if people, err = readNames(v, w), readAtlases(v, f, w.ID, places); err != nil {
			return err
		}
	}
	return f.read(v, people, places)
}

// readAtlases reads the atlases of the chosen workspace.
func readAtlases(v *web.Visit, f *find, id loci.ID, places map[loci.ID]string) error {
	list, err := web.Read[loci.Atlases](v, "atlas.list", "workspace_id", string(id), "limit", "100")
	for _, a := range list.Atlases {
		f.Atlases = append(f.Atlases, web.NewChoice(string(a.ID), a.Name, v.Values["atlas_id"]))
		places[a.ID] = a.Name
	}
	return err
}

// read reads the memories that the filters admit.
func (f *find) read(v *web.Visit, people web.Names, places map[loci.ID]string) error {
	pairs := []string{}
	for _, name := range filters {
		value := v.Values[name]
		if name == "query" || name == "sort" {
			continue
		}
		pairs = append(pairs, name, value)
		f.Narrow = f.Narrow || value != "" && name != "cursor"
	}
	if f.Query == "" || f.All {
		list, err := web.Read[loci.Memories](v, "memory.list", append(pairs, "sort", v.Values["sort"])...)
		for _, m := range list.Memories {
			f.add(m, people, places, plainStart(m.Content), "")
		}
		f.follow(v, list.NextCursor)
		return err
	}
	found, err := web.Read[loci.FoundMemories](v, "memory.search", append(pairs, "query", f.Query)...)
	f.Meta = found.Meta
	for _, m := range found.Memories {
		snippet := m.Title
		if len(m.Highlights) > 0 {
			snippet = m.Highlights[0]
		}
		parts, why := mark(snippet, f.Query)
		if _, inTitle := mark(m.Title, f.Query); why == "" {
			why = inTitle
		}
		if why == "" && found.Mode != loci.ResolvedKeyword && found.Mode != loci.ResolvedKeywordFallback {
			why = "Near in meaning"
		}
		f.add(m.Memory, people, places, parts, why)
	}
	f.follow(v, found.NextCursor)
	return err
}

func (f *find) follow(v *web.Visit, cursor string) {
	if cursor != "" {
		f.Next = v.Link("cursor", cursor)
	}
}

// add adds a hit. Its snippet is left out where it is the title alone.
func (f *find) add(m loci.Memory, people web.Names, places map[loci.ID]string, snippet []part, why string) {
	var text strings.Builder
	for _, p := range snippet {
		text.WriteString(p.Text)
	}
	if text.String() == m.Title {
		snippet = nil
	}
	f.Hits = append(f.Hits, hit{Memory: m, Kind: web.TypeWords[m.Type], Author: people.Of(m.CreatedBy),
		Workspace: places[m.WorkspaceID], Atlas: places[m.AtlasID], Snippet: snippet, Why: why})
}

// maxStart is how many bytes of a text a list shows.
const maxStart = 300

// plainStart returns the beginning of a text.
func plainStart(text string) []part {
	text = strings.TrimSpace(text)
	if len(text) > maxStart {
		text = strings.ToValidUTF8(text[:maxStart], "") + "…"
	}
	return []part{{Text: text}}
}

// maxSaid is how many words a hit names.
const maxSaid = 4

// mark marks the words of a query in a snippet, and says which ones it has.
func mark(snippet, query string) (parts []part, why string) {
	isSplit := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }
	words := strings.FieldsFunc(strings.ToLower(query), isSplit)
	var said []string
	start := 0
	cut := func(end int, marked bool) {
		if end > start {
			parts = append(parts, part{snippet[start:end], marked})
		}
		start = end
	}
	for i := 0; i < len(snippet); {
		end := strings.IndexFunc(snippet[i:], isSplit)
		if end < 0 {
			end = len(snippet) - i
		}
		if word := snippet[i : i+end]; isOneOf(strings.ToLower(word), words) {
			cut(i, false)
			cut(i+end, true)
			if !containsFold(said, word) {
				said = append(said, word)
			}
		}
		i += end
		if rest := strings.IndexFunc(snippet[i:], func(r rune) bool { return !isSplit(r) }); rest > 0 {
			i += rest
		} else if rest < 0 {
			break
		}
	}
	cut(len(snippet), false)
	if len(said) == 0 {
		return parts, ""
	}
	return parts, "Says “" + strings.Join(said[:min(len(said), maxSaid)], "”, “") + "”"
}

// isOneOf reports whether a word is one of a query, or begins like one.
func isOneOf(word string, words []string) bool {
	for _, w := range words {
		short, long := w, word
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) >= 3 && strings.HasPrefix(long, short) && len(long)-len(short) <= 3 {
			return true
		}
	}
	return false
}

func containsFold(list []string, word string) bool {
	for _, s := range list {
		if strings.EqualFold(s, word) {
			return true
		}
	}
	return false
}
