// Package fairqueue shares a limited resource fairly between users: connections, and turns in a group commit.
//
// A user with many requests does not delay another user with few. Work of the service itself has no user, written
// as the empty string, and has priority.
package fairqueue
