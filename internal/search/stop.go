package search

import "strings"

// stopWords are English words that say nothing about what a question asks for,
// and the halves that apostrophes leave. They are indexed all the same.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`
a about above after again against all also am an and any are aren as at be because been before being below between
both but by can could couldn did didn do does doesn doing don down during each few for from further get gets had hadn
has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll
me more most mustn my myself no nor not now of off on once only or other our ours ourselves out over own re same she
should shouldn so some such than that the their theirs them themselves then there these they this those through to too
under until up upon us use used using ve very was wasn we were weren what when where which while who whom whose why
will with won would wouldn you your yours yourself yourselves`) {
		set[w] = true
	}
	return set
}()
