//go:build cgo

package main

/*
#include <sys/prctl.h>

// The monitor of Go's runtime wakes up every 20 us while anything runs, which took a
// seventh of a search. The kernel may keep a thread asleep longer, together with others
// (timer slack, prctl(2)), by 50 us unless it is told; nothing here needs a clock finer
// than a millisecond. Threads inherit it, so that it must be said before the runtime
// makes its first.
__attribute__((constructor)) static void sleep_together(void) {
	prctl(PR_SET_TIMERSLACK, 1000000UL, 0, 0, 0);
}
*/
import "C"
