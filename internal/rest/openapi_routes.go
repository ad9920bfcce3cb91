package rest

import "maps"

// The hand-written routes of this package as OpenAPI operation objects.
var (
	describeHealth = jsonObject{
		"operationId": "service.health",
		"summary":     "Tell whether the server is there",
		"responses": jsonObject{"200": jsonObject{"description": "It is", "content": jsonContent(jsonObject{
			"type": "object", "required": []string{"ok", "service", "version", "contract"},
			"properties": jsonObject{"ok": jsonObject{"type": "boolean", "const": true},
				"service":  jsonObject{"type": "string"},
				"version":  jsonObject{"type": "string", "description": "Of the program"},
				"contract": jsonObject{"type": "string", "description": "The version of this document, info.version"}},
		})}},
	}
	describeOpenAPI = jsonObject{
		"operationId": "service.document",
		"summary":     "Describe the whole interface",
		"responses": jsonObject{"200": jsonObject{"description": "This document",
			"content": jsonContent(jsonObject{"type": "object"})}},
	}
)

// routeObject adds the common parts to the description of a hand-written route. It needs no credential unless it names
// one, and has the form of errors.
func (s *openAPIBuilder) routeObject(operation jsonObject) jsonObject {
	responses := jsonObject{"4XX": s.errorResponse(0), "default": s.errorResponse(0)}
	maps.Copy(responses, operation["responses"].(jsonObject))
	out := jsonObject{"security": []jsonObject{}, "description": operation["summary"]}
	maps.Copy(out, operation)
	out["responses"] = responses
	return out
}
