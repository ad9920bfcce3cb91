// Package replica copies memories between the local database and a workspace on a server, in both directions. It reads
// and writes both sides by the operations of the table.
//
// A pair names a memory and its copy, with a hash of each at the last copy. A memory whose hash differs was changed
// since. Before each write the pair is saved with the states through which the copy leads. So the next run continues
// one that was killed. It finds a memory that was created, but whose id was not saved, by the text that was sent.
package replica
