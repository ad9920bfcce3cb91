// Package httpapi holds what the HTTP transports share, so that they need not
// import each other.
package httpapi
