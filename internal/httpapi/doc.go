// Package httpapi is the shared part of the HTTP transports. It has credential, actor, request id and client address of
// a request, limits of bodies and of unread responses, allowed hosts, and the error response.
package httpapi
