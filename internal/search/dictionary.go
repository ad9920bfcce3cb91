package search

// dictionary goes through the words of a view: of terms that are letters alone,
// since the index does not tell words from other terms.
type dictionary struct {
	view   *View
	fetch  Fetch
	reader reader
	hits   hits
}

// each calls take for the blocks of all terms that begin with one of the prefixes,
// in each segment in order, then for the unfolded rows, in any order. live counts
// the documents of the block that live.
func (d *dictionary) each(prefixes []string, take func(term []byte, live func() (int, error)) error) error {
	for _, g := range d.view.segments {
		live := func() (int, error) { return d.live(g) }
		for _, p := range prefixes {
			d.reader.start(g, d.fetch, p, lastOf(p))
			for d.reader.next() {
				if err := take(d.reader.block.term, live); err != nil {
					return err
				}
			}
			if d.reader.err != nil {
				return d.reader.err
			}
		}
	}
	for _, p := range prefixes {
		var term string
		live := func() (int, error) { return d.view.liveRows(term), nil }
		for _, term = range d.view.tail.begin(p) {
			if err := take([]byte(term), live); err != nil {
				return err
			}
		}
	}
	return nil
}

// live counts the documents of the reader's block that live.
func (d *dictionary) live(g *Segment) (n int, err error) {
	if g.dead == nil {
		return d.reader.block.count, nil
	}
	d.hits.reset()
	err = d.reader.block.decode(&d.hits, 0, g.docs())
	if err != nil {
		return 0, err
	}
	for _, doc := range d.hits.docs {
		if !isSet(g.dead, int(doc)) {
			n++
		}
	}
	return n, nil
}

// knows reports whether a live document holds a term.
func (d *dictionary) knows(term string) (bool, error) {
	for _, g := range d.view.segments {
		d.reader.start(g, d.fetch, term, term)
		for d.reader.next() {
			if n, err := d.live(g); n > 0 || err != nil {
				return n > 0, err
			}
		}
		if d.reader.err != nil {
			return false, d.reader.err
		}
	}
	return d.view.liveRows(term) > 0, nil
}

// liveRows counts the unfolded rows that hold a term and live.
func (v *View) liveRows(term string) (n int) {
	for _, p := range v.tail.postings(term) {
		if int(p.doc) >= len(v.rows) {
			break
		}
		if !isSet(v.dead, int(p.doc)) {
			n++
		}
	}
	return n
}
