package sqldb

import "slices"

// turns queue waiting users in fair order: next is the user with the fewest
// turns, among several the first in the queue. Work of the service itself has
// no user, and comes first. The caller must hold the lock.
type turns[T comparable] struct {
	held    map[string]int       // by user
	waiting map[string][]turn[T] // by user, in order of arrival
	arrived uint64
}

// A turn waits to be taken.
type turn[T comparable] struct {
	number uint64
	of     T
}

func newTurns[T comparable]() turns[T] {
	return turns[T]{held: map[string]int{}, waiting: map[string][]turn[T]{}}
}

// wait adds a turn of the user.
func (q *turns[T]) wait(user string, of T) {
	q.arrived++
	q.waiting[user] = append(q.waiting[user], turn[T]{q.arrived, of})
}

// next takes the next turn of those users who may have one; the user then holds it.
func (q *turns[T]) next(may func(user string) bool) (of T, ok bool) {
	next := ""
	for user, own := range q.waiting {
		if !may(user) {
			continue
		}
		n, minimum := q.rank(user), q.rank(next)
		if !ok || n < minimum || n == minimum && own[0].number < q.waiting[next][0].number {
			next, ok = user, true
		}
	}
	if !ok {
		return of, false
	}
	of = q.waiting[next][0].of
	q.held[next]++
	q.remove(next, 0)
	return of, true
}

// rank orders those who wait: the lowest is the next.
func (q *turns[T]) rank(user string) int {
	if user == "" {
		return -1
	}
	return q.held[user]
}

// release ends a turn that the user holds.
func (q *turns[T]) release(user string) {
	if q.held[user]--; q.held[user] == 0 {
		delete(q.held, user)
	}
}

// leave takes back a turn that was not taken, and reports whether it waited.
func (q *turns[T]) leave(user string, of T) bool {
	i := slices.IndexFunc(q.waiting[user], func(t turn[T]) bool { return t.of == of })
	if i >= 0 {
		q.remove(user, i)
	}
	return i >= 0
}

func (q *turns[T]) remove(user string, i int) {
	if q.waiting[user] = slices.Delete(q.waiting[user], i, i+1); len(q.waiting[user]) == 0 {
		delete(q.waiting, user)
	}
}
