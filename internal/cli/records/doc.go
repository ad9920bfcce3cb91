// Package records reads the records that a command needs besides its answer: ids for parts of them, names for ids, and
// all pages of a list. Its Scope narrows a caller to one workspace or atlas.
package records
