package oauth

import "github.com/loci-memory/loci/internal/store/grantdb"

type object = map[string]any

// stringSchema is the schema of a text.
func stringSchema(description string) object {
	return object{"type": "string", "description": description}
}

func jsonBody(schema object) object { return object{"application/json": object{"schema": schema}} }

// describeDocument returns the OpenAPI operation object of a document.
func describeDocument(id, summary string) object {
	return object{"operationId": id, "summary": summary, "responses": object{
		"200": object{"description": "The document", "content": jsonBody(object{"type": "object"})}}}
}

// formBody returns the request body of a form.
func formBody(required []string, properties object) object {
	return object{"required": true, "content": object{"application/x-www-form-urlencoded": object{
		"schema": object{"type": "object", "required": required, "properties": properties}}}}
}

// refused is the error response of the endpoints (RFC 6749, section 5.2).
func refused() object {
	return object{"description": "What is wrong", "content": jsonBody(object{"type": "object",
		"required": []string{"error", "error_description"},
		"properties": object{"error": stringSchema("A code of OAuth, such as invalid_grant"),
			"error_description": stringSchema("What to do, for people")}})}
}

// responses returns the responses of an endpoint. Refusals of the server itself have the form of all others.
func responses(status, description string, schema object) object {
	all := object{status: object{"description": description, "content": jsonBody(schema)}}
	for _, refusal := range []string{"400", "401", "413", "429", "500", "503"} {
		all[refusal] = refused()
	}
	return all
}

// The endpoints of programs as OpenAPI operation objects.
var (
	describeToken = object{
		"operationId": "oauth.token",
		"summary":     "Exchange an authorization code or a refresh token for tokens",
		"requestBody": formBody([]string{"grant_type", "client_id"}, object{
			"grant_type":    object{"type": "string", "enum": grantTypes},
			"client_id":     stringSchema("Of the registration, or the address of the metadata document"),
			"code":          stringSchema("The authorization code. It lives for 60 seconds and works once"),
			"redirect_uri":  stringSchema("The one of the authorization request"),
			"code_verifier": stringSchema("Of PKCE (RFC 7636): 43 to 128 characters"),
			"refresh_token": stringSchema("The last one. Its repetition returns the same answer for two minutes"),
			"scope":         stringSchema("mcp, mcp account, or absent. The consent decides"),
			"resource":      stringSchema("The address of /mcp, or absent"),
		}),
		"responses": responses("200", "The tokens", object{"type": "object",
			"required": []string{"access_token", "token_type", "expires_in", "refresh_token", "scope"},
			"properties": object{"access_token": stringSchema("For Authorization: Bearer"),
				"token_type":    object{"type": "string", "const": "Bearer"},
				"expires_in":    object{"type": "integer", "description": "Seconds"},
				"scope":         object{"type": "string", "enum": []string{grantdb.MCPScope, grantdb.AccountScope}},
				"refresh_token": stringSchema("Replaces the earlier one; it ends after 60 days without use")}}),
	}
	describeRevoke = object{
		"operationId": "oauth.revoke",
		"summary":     "End the grant of an access or refresh token (RFC 7009)",
		"requestBody": formBody([]string{"token", "client_id"}, object{
			"token":           stringSchema("An access or refresh token"),
			"token_type_hint": stringSchema("Ignored"),
			"client_id":       stringSchema("Of the client that got the token"),
		}),
		"responses": responses("200", "The token does not work any more, or never did", object{"type": "object"}),
	}
	describeRegister = object{
		"operationId": "oauth.register",
		"summary":     "Register a client (RFC 7591)",
		"requestBody": object{"required": true, "content": jsonBody(object{"type": "object",
			"required": []string{"redirect_uris"}, "properties": metadataSchema(object{})})},
		"responses": responses("201", "The client", object{"type": "object",
			"required": []string{"client_id", "client_id_issued_at", "redirect_uris", "token_endpoint_auth_method"},
			"properties": metadataSchema(object{"client_id": stringSchema("Its id"),
				"scope":               stringSchema("Always mcp"),
				"client_id_issued_at": object{"type": "integer", "description": "Seconds since 1970"}})}),
	}
)

// metadataSchema adds the properties of a client's metadata.
func metadataSchema(properties object) object {
	list := func(description string) object {
		return object{"type": "array", "description": description, "items": object{"type": "string"}}
	}
	properties["client_name"] = stringSchema("At most 200 characters; pages show it as unverified")
	properties["client_uri"] = stringSchema("Web address of the client")
	properties["redirect_uris"] = list("1 to 10 addresses: https, http on a loopback address with any " +
		"port, or a scheme of the program. They are compared exactly")
	properties["grant_types"] = list("authorization_code and refresh_token")
	properties["response_types"] = list("code")
	properties["token_endpoint_auth_method"] = stringSchema("Always answered as none")
	return properties
}
