package service

import "container/list"

// An lru maps names to values, and evicts the least recently used name when it
// would hold more than max.
type lru[K comparable, V any] struct {
	max     int
	entries map[K]*list.Element
	used    list.List // of *entry[K, V], least recently used first
}

type entry[K comparable, V any] struct {
	name  K
	value V
}

func newLRU[K comparable, V any](max int) *lru[K, V] {
	return &lru[K, V]{max: max, entries: map[K]*list.Element{}}
}

// get returns the value of a name, or nil.
func (l *lru[K, V]) get(name K) *V {
	if e := l.entries[name]; e != nil {
		return &e.Value.(*entry[K, V]).value
	}
	return nil
}

// use returns the value of a name, which is added where it is missing, and makes it
// the most recently used.
func (l *lru[K, V]) use(name K) *V {
	e := l.entries[name]
	if e == nil {
		if len(l.entries) >= l.max {
			oldest, _ := l.oldest()
			l.remove(oldest)
		}
		e = l.used.PushBack(&entry[K, V]{name: name})
		l.entries[name] = e
	}
	l.used.MoveToBack(e)
	return &e.Value.(*entry[K, V]).value
}

// oldest returns the least recently used name and its value, or nil.
func (l *lru[K, V]) oldest() (name K, value *V) {
	if e := l.used.Front(); e != nil {
		first := e.Value.(*entry[K, V])
		return first.name, &first.value
	}
	return name, nil
}

func (l *lru[K, V]) remove(name K) {
	if e := l.entries[name]; e != nil {
		l.used.Remove(e)
		delete(l.entries, name)
	}
}
