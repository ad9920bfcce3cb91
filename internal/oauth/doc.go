// Package oauth is the transport of the authorization server (OAuth 2.1): its documents, the endpoints of programs, and
// the check of authorization requests, which package web asks people about. Each address is built from the public URL.
package oauth
