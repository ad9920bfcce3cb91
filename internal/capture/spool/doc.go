// Package spool keeps captured events on disk, in order, until they are delivered. Processes share it: each appends,
// and one at a time delivers.
//
// # Files
//
// A spool is a folder of mode 0700 with files of mode 0600:
//
//	events.jsonl   one event a line, oldest first
//	state.json     how many bytes of it are done, counters, the next attempt, the last error
//	lock           held while the two files above change, for a few milliseconds at most
//	delivery.lock  held while a process delivers
//
// # Crashes
//
// An event is written by one call of write, so a killed process leaves a whole line or a torn one. The next line begins
// after a newline, and readers skip what is no event. State is written before the events that it counts are removed:
// after a crash in between an event is delivered twice, never lost. Its id is the same, so a server counts it once.
// Files are not synced: after a power cut the events of the last seconds may be missing.
package spool
