// Package style holds the style sheet and the icon of all pages: those of the server, and the last one of a sign-in.
package style

import _ "embed" // of the style sheet

// Sheet is the style sheet.
//
//go:embed page.css
var Sheet string

// Icon is the address of the icon: a white L on the color of actions.
const Icon = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E" +
	"%3Crect width='32' height='32' rx='7' fill='%232456c9'/%3E" +
	"%3Cpath d='M11 7v18h11' fill='none' stroke='%23fff' stroke-width='4'/%3E%3C/svg%3E"
