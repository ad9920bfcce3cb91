// Package embeddb computes and stores the vectors of memories. It holds the embedding queue, the worker that empties
// it, and the vectors.
//
// A write adds the memory to the queue in its own transaction. Workers of all processes lease jobs from the queue,
// fairly between the owners of workspaces. They store the vectors of a text in one transaction. A generation is a set
// of vectors of one model. A workspace answers from one generation at a time. It switches to that of a new model when
// its queue is empty but for memories that failed maxAttempts times.
//
// Callers check the scope before: all functions work in transactions without one.
package embeddb
