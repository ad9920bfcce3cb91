package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A prompt is a request that a person chooses in a client, often as a command.
type prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Arguments   []promptArgument `json:"arguments"`

	// write returns the text for these arguments, all of which are known and complete.
	write func(d *Server, ctx context.Context, c *promptCall) (string, error)
}

// A promptArgument is a text that a person gives.
type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// A promptCall is a call of a prompt with its arguments.
type promptCall struct {
	*exchange
	arguments map[string]string
	atlas     loci.ID // of the argument atlas, or ""
}

var atlasArgument = promptArgument{Name: "atlas", Description: "Name or id of an atlas; default: all of yours"}

var prompts = []*prompt{
	{Name: "recall", Title: "Recall", Description: "Read what is remembered about something before going on.",
		Arguments: []promptArgument{{"query", "A task or a question", true}, atlasArgument},
		write:     (*Server).writeRecall},
	{Name: "remember", Title: "Remember", Description: "Store something, or what this conversation brought.",
		Arguments: []promptArgument{{"text", "What to remember; default: what matters later", false}, atlasArgument},
		write:     (*Server).writeRemember},
	{Name: "handover", Title: "Hand over", Description: "Store where the work stands, for whoever continues it.",
		Arguments: []promptArgument{{"task", "The work; default: that of this conversation", false}, atlasArgument},
		write:     (*Server).writeHandover},
}

func promptNamed(name string) *prompt {
	if i := slices.IndexFunc(prompts, func(p *prompt) bool { return p.Name == name }); i >= 0 {
		return prompts[i]
	}
	return nil
}

func unknownPrompt(name string) *rpcError {
	return invalidParams(fmt.Sprintf("unknown prompt %q", strictjson.Shorten(name)))
}

func (p *prompt) argumentNames() (names []string) {
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	return names
}

func (d *Server) listPrompts(_ context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.rejectCursor(); err != nil {
		return nil, err
	}
	return d.encodeResult(private(result{"prompts": prompts}), x.isStateless()), nil
}

// getPrompt writes a prompt as one message of the user.
func (d *Server) getPrompt(ctx context.Context, x *exchange) ([]byte, *rpcError) {
	if err := x.requireParams(); err != nil {
		return nil, err
	}
	name, failed := x.param("name")
	if failed != nil {
		return nil, failed
	}
	p := promptNamed(name)
	if p == nil {
		return nil, unknownPrompt(name)
	}
	c := &promptCall{exchange: x}
	if c.arguments, failed = p.readArguments(x); failed != nil {
		return nil, failed
	}
	var err error
	if c.atlas, err = d.findAtlas(ctx, x, c.arguments[atlasArgument.Name]); err != nil {
		return nil, operationError(err, x.call)
	}
	text, err := p.write(d, ctx, c)
	if err != nil {
		return nil, operationError(err, x.call)
	}
	return d.encodeResult(result{"description": p.Description,
		"messages": []result{{"role": "user", "content": newText(text)}}}, x.isStateless()), nil
}

// readArguments returns the arguments of a call without surrounding space; an empty one counts as absent.
func (p *prompt) readArguments(x *exchange) (map[string]string, *rpcError) {
	given := map[string]string{}
	if raw := x.params["arguments"]; raw != nil && string(raw) != "null" {
		var failed *rpcError
		if given, failed = stringMembers(raw, "params.arguments"); failed != nil {
			return nil, failed
		}
	}
	names := p.argumentNames()
	for name, value := range given {
		if !slices.Contains(names, name) {
			return nil, invalidParams(fmt.Sprintf("unknown argument %q: %s takes %s", strictjson.Shorten(name), p.Name,
				strings.Join(names, ", ")))
		}
		given[name] = strings.TrimSpace(value)
	}
	for _, a := range p.Arguments {
		if a.Required && given[a.Name] == "" {
			return nil, invalidParams("params.arguments." + a.Name + " is required.")
		}
	}
	return given, nil
}

// findAtlas returns the id of the atlas of this name or id. Without one, it returns the one where the server works.
func (d *Server) findAtlas(ctx context.Context, x *exchange, wanted string) (loci.ID, error) {
	if wanted == "" || loci.ID(wanted).Valid() {
		return loci.ID(wanted), nil
	}
	if d.AtlasID == "" && d.content.atlasList != nil {
		return d.recordLists(x.call).ID(ctx, "atlas", loci.ID(wanted))
	}
	r, err := resolve.Find("atlas", wanted, d.allAtlases(ctx, x.call))
	return r.ID, err
}
