// Package loci has the domain types of Loci: records, inputs and outputs of operations, rules and errors. It imports
// the standard library only and depends on neither SQL nor HTTP, so that client, tests and server share its types.
package loci
