// Package jsonc edits one member of a JSON document that a person keeps, and leaves all other bytes as they are:
// comments, order, indentation, trailing commas and line endings. A member that was set and then removed leaves no
// trace.
package jsonc
