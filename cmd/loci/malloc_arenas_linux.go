//go:build cgo

package main

/*
#include <malloc.h>

// The C library gives each thread an arena of its own, up to eight for a processor
// (M_ARENA_MAX, mallopt(3)). SQLite allocates on whatever thread the scheduler of Go
// chose, so that its caches are spread over all arenas, and what one of them has
// free is of no use in another. Two hold the same in less memory.
__attribute__((constructor)) static void share_arenas(void) {
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 2);
#endif
}
*/
import "C"
