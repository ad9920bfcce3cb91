package limit

import "slices"

// A Queue holds the entries that wait, by key. Pop takes an entry of the key that holds the fewest units. Several such
// keys take turns: one with many entries delays the first of another by one entry. The zero key is the service itself
// and has priority. The caller must lock the queue.
type Queue[K, V comparable] struct {
	held    map[K]int        // units by key
	waiting map[K][]entry[V] // by key, in order of arrival
	last    uint64           // number that was given last
}

type entry[V comparable] struct {
	number uint64 // the turn of the first entry of a key; of others the order of arrival
	units  int
	value  V
}

// NewQueue returns an empty queue.
func NewQueue[K, V comparable]() Queue[K, V] {
	return Queue[K, V]{held: map[K]int{}, waiting: map[K][]entry[V]{}}
}

// Push adds an entry of the key, which will hold some units.
func (q *Queue[K, V]) Push(key K, units int, value V) {
	q.waiting[key] = append(q.waiting[key], entry[V]{q.next(), units, value})
}

func (q *Queue[K, V]) next() uint64 {
	q.last++
	return q.last
}

// Pop removes the next entry of the keys that may accepts. Its key then holds the units of the entry.
func (q *Queue[K, V]) Pop(may func(key K, units int) bool) (value V, ok bool) {
	var next K
	for key, own := range q.waiting {
		if !may(key, own[0].units) {
			continue
		}
		n, minimum := q.rank(key), q.rank(next)
		if !ok || n < minimum || n == minimum && own[0].number < q.waiting[next][0].number {
			next, ok = key, true
		}
	}
	if !ok {
		return value, false
	}
	e := q.waiting[next][0]
	q.held[next] += e.units
	q.remove(next, 0)
	if own := q.waiting[next]; len(own) > 0 {
		own[0].number = q.next()
	}
	return e.value, true
}

// rank returns the units that a key holds. The service itself ranks first.
func (q *Queue[K, V]) rank(key K) int {
	if key == *new(K) {
		return -1
	}
	return q.held[key]
}

// PopMost removes the last entry of the key with the most entries, if that has at least two more than another key.
func (q *Queue[K, V]) PopMost(other K) (value V, ok bool) {
	most := other
	for key, own := range q.waiting {
		n, maximum := len(own), len(q.waiting[most])
		if n > maximum || n == maximum && own[n-1].number > q.waiting[most][n-1].number {
			most = key
		}
	}
	last := len(q.waiting[most]) - 1
	if last <= len(q.waiting[other]) {
		return value, false
	}
	value = q.waiting[most][last].value
	q.remove(most, last)
	return value, true
}

// Release ends units of the key.
func (q *Queue[K, V]) Release(key K, units int) {
	if q.held[key] -= units; q.held[key] == 0 {
		delete(q.held, key)
	}
}

// ReleaseAll ends the units of all keys.
func (q *Queue[K, V]) ReleaseAll() { clear(q.held) }

// Remove deletes an entry, and reports whether it was still waiting.
func (q *Queue[K, V]) Remove(key K, value V) bool {
	i := slices.IndexFunc(q.waiting[key], func(e entry[V]) bool { return e.value == value })
	if i >= 0 {
		q.remove(key, i)
	}
	return i >= 0
}

// remove deletes an entry. The turn of a first one goes to the next of its key.
func (q *Queue[K, V]) remove(key K, i int) {
	own := q.waiting[key]
	turn := own[0].number
	if own = slices.Delete(own, i, i+1); len(own) == 0 {
		delete(q.waiting, key)
		return
	}
	own[0].number, q.waiting[key] = turn, own
}

// Len returns the number of entries that wait.
func (q *Queue[K, V]) Len() (n int) {
	for _, own := range q.waiting {
		n += len(own)
	}
	return n
}
