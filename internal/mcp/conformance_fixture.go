//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// This file adds what the suite @modelcontextprotocol/conformance asks a server for. It wraps methods of the table, so
// that the suite judges the transport, the checks and the encoding of the program that people use.

// Contents in the formats that the suite asks for: one pixel, and a silent recording.
const (
	fixtureImage = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8" +
		"z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	fixtureDescription = "A prompt of the conformance suite."
	fixtureAudio       = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
)

var (
	fixtureText     = newText("This is a simple text response for testing.")
	fixturePicture  = result{"type": "image", "data": fixtureImage, "mimeType": "image/png"}
	fixtureSound    = result{"type": "audio", "data": fixtureAudio, "mimeType": "audio/wav"}
	fixtureEmbedded = newFixtureEmbedded("test://embedded-resource")
)

func newFixtureEmbedded(uri string) result {
	return result{"type": "resource", "resource": result{"uri": uri, "mimeType": "text/plain",
		"text": "This is an embedded resource content."}}
}

// fixtureTools are contents by the name of a tool.
var fixtureTools = map[string][]any{
	"test_simple_text":            {fixtureText},
	"test_image_content":          {fixturePicture},
	"test_audio_content":          {fixtureSound},
	"test_embedded_resource":      {fixtureEmbedded},
	"test_multiple_content_types": {fixtureText, fixturePicture, fixtureEmbedded},
	"test_error_handling":         {newText("This tool intentionally returns an error for testing")},
	"test_tool_with_progress":     {fixtureText},
}

// fixtureResources are contents by address.
var fixtureResources = map[string]result{
	"test://static-text": {"uri": "test://static-text", "mimeType": "text/plain",
		"text": "This is the content of the static text resource."},
	"test://static-binary": {"uri": "test://static-binary", "mimeType": "image/png", "blob": fixtureImage},
}

func init() {
	wrap("tools/call", callFixtureTool)
	wrap("resources/read", readFixtureResource)
	wrap("prompts/get", embedInFixturePrompt)
	fixed := func(text string) func(*Server, context.Context, *promptCall) (string, error) {
		return func(_ *Server, _ context.Context, c *promptCall) (string, error) {
			return strings.NewReplacer("{arg1}", c.arguments["arg1"], "{arg2}", c.arguments["arg2"]).Replace(text), nil
		}
	}
	prompts = append(prompts,
		&prompt{Name: "test_simple_prompt", Description: fixtureDescription,
			write:     fixed("This is a simple prompt for testing."),
			Arguments: []promptArgument{}},
		&prompt{Name: "test_prompt_with_arguments", Description: fixtureDescription,
			write:     fixed("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"),
			Arguments: []promptArgument{{"arg1", "First test argument", true}, {"arg2", "Second test argument", true}}},
		&prompt{Name: "test_prompt_with_embedded_resource", Description: fixtureDescription,
			write:     fixed("Please process the embedded resource above."),
			Arguments: []promptArgument{{"resourceUri", "Address of the resource", true}}},
		&prompt{Name: "test_prompt_with_image", Description: fixtureDescription,
			write:     fixed("Please analyze the image above."),
			Arguments: []promptArgument{}})
	templates = append(templates, resource{Name: "template", Title: "Template",
		URITemplate: "test://template/{id}/data", MIMEType: "application/json"})
}

// A fixture answers a request, or returns nil where it is not for the suite.
type fixture func(d *Server, x *exchange) result

// wrap lets a fixture answer before the method.
func wrap(name string, f fixture) {
	m := methods[name]
	handle := m.handle
	m.handle = func(d *Server, ctx context.Context, x *exchange) ([]byte, *rpcError) {
		if r := f(d, x); r != nil {
			return d.encodeResult(r, x.isStateless()), nil
		}
		return handle(d, ctx, x)
	}
	methods[name] = m
}

func callFixtureTool(_ *Server, x *exchange) result {
	name, _ := text(x.params["name"])
	content := fixtureTools[name]
	if content == nil {
		return nil
	}
	if token := x.meta["progressToken"]; name == "test_tool_with_progress" && token != nil {
		for progress := 0; progress <= 100; progress += 50 {
			_ = x.stream.send(encode(result{"jsonrpc": "2.0", "method": "notifications/progress",
				"params": result{"progressToken": token, "progress": progress, "total": 100}}))
			time.Sleep(50 * time.Millisecond)
		}
	}
	return result{"content": content, "isError": name == "test_error_handling"}
}

func readFixtureResource(_ *Server, x *exchange) result {
	uri, _ := text(x.params["uri"])
	content := fixtureResources[uri]
	if id, ok := strings.CutPrefix(uri, "test://template/"); ok {
		id = strings.TrimSuffix(id, "/data")
		content = result{"uri": uri, "mimeType": "application/json", "text": fmt.Sprintf(
			`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}
	}
	if content == nil {
		return nil
	}
	return private(result{"contents": []result{content}})
}

// embedInFixturePrompt answers with more than a text, which no prompt of Loci does.
func embedInFixturePrompt(d *Server, x *exchange) result {
	name, _ := text(x.params["name"])
	var content result
	switch name {
	case "test_prompt_with_embedded_resource":
		var arguments struct{ ResourceURI string }
		_ = json.Unmarshal(x.params["arguments"], &arguments) // the suite's own
		content = newFixtureEmbedded(arguments.ResourceURI)
	case "test_prompt_with_image":
		content = fixturePicture
	default:
		return nil
	}
	text, _ := promptNamed(name).write(d, context.Background(), &promptCall{exchange: x, atlas: loci.ID("")})
	return result{"messages": []result{{"role": "user", "content": content},
		{"role": "user", "content": newText(text)}}}
}
