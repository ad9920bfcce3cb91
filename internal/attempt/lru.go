package attempt

import "container/list"

// An lruMap maps keys to values, and evicts the least recently used key when it exceeds max. Unlike cache.Cache it has
// no lock, and get does not count as a use.
type lruMap[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	order   list.List // of *lruEntry[K, V], the least recently used first
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int) *lruMap[K, V] {
	return &lruMap[K, V]{max: max, entries: map[K]*list.Element{}}
}

// get returns the value of a key, or nil.
func (l *lruMap[K, V]) get(key K) *V {
	if e := l.entries[key]; e != nil {
		return &e.Value.(*lruEntry[K, V]).value
	}
	return nil
}

// getOrAdd returns the value of a key, adds it where it is missing, and marks it as the most recently used.
func (l *lruMap[K, V]) getOrAdd(key K) *V {
	e := l.entries[key]
	if e == nil {
		if len(l.entries) >= l.max {
			oldest, _ := l.oldest()
			l.remove(oldest)
		}
		e = l.order.PushBack(&lruEntry[K, V]{key: key})
		l.entries[key] = e
	}
	l.order.MoveToBack(e)
	return &e.Value.(*lruEntry[K, V]).value
}

// oldest returns the least recently used key and its value, or nil.
func (l *lruMap[K, V]) oldest() (key K, value *V) {
	if e := l.order.Front(); e != nil {
		first := e.Value.(*lruEntry[K, V])
		return first.key, &first.value
	}
	return key, nil
}

func (l *lruMap[K, V]) remove(key K) {
	if e := l.entries[key]; e != nil {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}
