package rest

import (
	"encoding/json"
	"maps"
)

// What the hand-written routes of this package do, as OpenAPI operation objects.
var (
	describeHealth = object{
		"operationId": "service.health",
		"summary":     "Tell whether the server is there",
		"responses": object{"200": object{"description": "It is", "content": jsonOf(object{
			"type": "object", "required": []string{"ok", "service", "version", "contract"},
			"properties": object{"ok": object{"type": "boolean", "const": true}, "service": object{"type": "string"},
				"version":  object{"type": "string", "description": "Of the program"},
				"contract": object{"type": "string", "description": "The version of this document, info.version"}},
		})}},
	}
	describeDocument = object{
		"operationId": "service.document",
		"summary":     "Describe the whole interface",
		"responses":   object{"200": object{"description": "This document", "content": jsonOf(object{"type": "object"})}},
	}
)

func describePage(name, summary string) object {
	out := object{
		"operationId": "page." + name,
		"summary":     summary,
		"responses":   object{"200": object{"description": "A page for people", "content": object{"text/html": object{"schema": object{"type": "string"}}}}},
	}
	if link := "the one-time setup link"; name == "setup" {
		out["parameters"] = []object{linkParameter("token", link)}
	} else {
		link = "the link of an invitation"
		out["parameters"] = []object{linkParameter("id", link), linkParameter("token", link)}
	}
	return out
}

func linkParameter(name, link string) object {
	return object{"in": "query", "name": name, "description": "From " + link, "schema": object{"type": "string"}}
}

// route completes the description of a hand-written route with what holds for
// all of them: no credential unless it says so, and errors in their one shape.
func (s *writer) route(described any) object {
	out := object{"security": []object{}}
	b, err := json.Marshal(described)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic("rest: " + err.Error())
	}
	if out["description"] == nil {
		out["description"] = out["summary"]
	}
	responses := object{"4XX": s.failure(0), "default": s.failure(0)}
	if given, ok := out["responses"].(object); ok {
		maps.Copy(responses, given)
	}
	out["responses"] = responses
	return out
}
