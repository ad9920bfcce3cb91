// Package hook is the command loci hook: a coding agent calls it for events of its sessions. It never fails and hardly
// keeps the agent waiting: whatever happens, it ends with the exit code 0, and without a word that the agent neither
// reads nor shows. It waits at most 5 seconds for its payload, extracts events from it for at most one second, and
// delivers for at most 150 milliseconds. What went wrong is one line in a log, without contents.
//
// A [Collector] does the same for loci acp, which sees a whole conversation and runs as long as the agent.
package hook
