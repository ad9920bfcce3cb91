// Package loci holds the words of Loci: its records, the inputs and outputs of
// its operations, its pure rules and its errors. It imports the standard
// library only and knows neither SQL nor HTTP, so that a client, a test and
// the server speak of the same things.
package loci
