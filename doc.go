// Package loci has the domain types of Loci: its records, the inputs and
// outputs of its operations, its rules and its errors. It imports the standard
// library only and knows neither SQL nor HTTP, so that client, tests and server
// share its types.
package loci
