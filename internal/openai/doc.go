// Package openai sends requests to services with the API of OpenAI (https://platform.openai.com/docs/api-reference),
// which many programs and vendors have. Its errors contain neither the key nor any part of a request or a response.
package openai
