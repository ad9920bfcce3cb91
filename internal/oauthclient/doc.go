// Package oauthclient signs a person in at a Loci server through the browser: OAuth 2.1 with PKCE, a redirect to this
// machine (RFC 8252), server metadata (RFC 8414, RFC 9728) and dynamic registration (RFC 7591). It stores nothing.
package oauthclient
