package fairqueue

import "slices"

// A Queue holds the entries that wait, by user. Pop takes an entry of the user who holds the fewest turns. Among
// several such users it takes the entry that arrived first. The caller must lock it.
type Queue[T comparable] struct {
	held    map[string]int        // turns by user
	waiting map[string][]entry[T] // by user, in order of arrival
	arrived uint64
}

type entry[T comparable] struct {
	number uint64 // in order of arrival
	value  T
}

// NewQueue returns an empty queue.
func NewQueue[T comparable]() Queue[T] {
	return Queue[T]{held: map[string]int{}, waiting: map[string][]entry[T]{}}
}

// Push adds an entry of the user.
func (q *Queue[T]) Push(user string, value T) {
	q.arrived++
	q.waiting[user] = append(q.waiting[user], entry[T]{q.arrived, value})
}

// Pop removes the next entry of the users that may accepts. Its user then holds one more turn.
func (q *Queue[T]) Pop(may func(user string) bool) (value T, ok bool) {
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
		return value, false
	}
	value = q.waiting[next][0].value
	q.held[next]++
	q.remove(next, 0)
	return value, true
}

// rank returns the turns that a user holds. The service itself ranks first.
func (q *Queue[T]) rank(user string) int {
	if user == "" {
		return -1
	}
	return q.held[user]
}

// Release ends one turn of the user.
func (q *Queue[T]) Release(user string) {
	if q.held[user]--; q.held[user] == 0 {
		delete(q.held, user)
	}
}

// ReleaseAll ends the turns of all users.
func (q *Queue[T]) ReleaseAll() { clear(q.held) }

// Remove deletes an entry, and reports whether it was still waiting.
func (q *Queue[T]) Remove(user string, value T) bool {
	i := slices.IndexFunc(q.waiting[user], func(e entry[T]) bool { return e.value == value })
	if i >= 0 {
		q.remove(user, i)
	}
	return i >= 0
}

func (q *Queue[T]) remove(user string, i int) {
	if q.waiting[user] = slices.Delete(q.waiting[user], i, i+1); len(q.waiting[user]) == 0 {
		delete(q.waiting, user)
	}
}

// Len returns the number of entries that wait.
func (q *Queue[T]) Len() (n int) {
	for _, own := range q.waiting {
		n += len(own)
	}
	return n
}
