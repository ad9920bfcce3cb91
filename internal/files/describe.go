package files

import "github.com/loci-memory/loci/internal/service/file"

type jsonObject = map[string]any

// operationID returns the name of a route in the document, where each has its own.
func operationID(name, prefix string) string {
	if prefix != file.Path {
		return name + ".alias"
	}
	return name
}

// parameters describes the id in the path and the signed query.
func parameters(query ...string) []jsonObject {
	list := []jsonObject{{"in": "path", "name": "attachmentId", "required": true,
		"schema": jsonObject{"type": "string", "format": "uuid"}}}
	for _, name := range query {
		list = append(list, jsonObject{"in": "query", "name": name, "required": true,
			"schema": jsonObject{"type": "string"}})
	}
	return list
}

func bytesContent() jsonObject {
	return jsonObject{"*/*": jsonObject{"schema": jsonObject{"type": "string", "format": "binary"}}}
}

func describeUpload(prefix string) jsonObject {
	return jsonObject{
		"operationId": operationID("attachment.put", prefix),
		"summary":     "Upload the bytes of a file to the address of attachment.upload",
		"parameters":  parameters("expires", "size", "type", "signature"),
		"requestBody": jsonObject{"required": true, "content": bytesContent()},
		"responses": jsonObject{"200": jsonObject{"description": "Stored: confirm it", "content": jsonObject{
			"application/json": jsonObject{"schema": jsonObject{"type": "object", "required": []string{"ok"},
				"properties": jsonObject{"ok": jsonObject{"type": "boolean", "const": true}}}}}}},
	}
}

func describeDownload(prefix string) jsonObject {
	return jsonObject{
		"operationId": operationID("attachment.get", prefix),
		"summary":     "Download the bytes of a file, or a range of them, from the address of attachment.download",
		"parameters":  parameters("expires", "signature"),
		"responses": jsonObject{"200": jsonObject{"description": "The file", "content": bytesContent()},
			"206": jsonObject{"description": "The range", "content": bytesContent()},
			"304": jsonObject{"description": "Not changed since the tag in If-None-Match"}},
	}
}
