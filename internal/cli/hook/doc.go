// Package hook is the command loci hook: a coding agent calls it for events of its sessions. It never fails and never
// keeps the agent waiting: whatever happens, it ends with the exit code 0 after a fraction of a second, without a word
// that the agent does not read. What went wrong is one line in a log, without contents.
//
// A [Collector] does the same for loci acp, which sees a whole conversation and runs as long as the agent.
package hook
