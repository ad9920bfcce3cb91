// Package httpapi holds what the HTTP transports share: credential, actor, request id and client address of a
// request, limits of bodies and of unread responses, allowed hosts, and the error response.
package httpapi
