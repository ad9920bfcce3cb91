// Package analysistest holds texts that the tests of search share.
package analysistest

// Prose is a paragraph of English.
const Prose = `Deployments are frozen from Friday afternoon until Monday morning, because nobody wants to be paged during the
weekend. If you must release a fix, ask the engineer who is on call and write down why it could not wait; the runbook in
the operations handbook describes how to roll back. We decided this after the outage in March, when a migration locked the
largest table for eleven minutes and the queue of background jobs overflowed. Smaller changes, such as wording on the
settings page or a corrected translation, may still go out behind a feature flag. Everybody agreed that the rule should be
reviewed in the autumn, once the new pipeline has proved itself and the tests are faster than they are today.`

// Hostile are pieces of texts that may take more than linear time when they repeat.
var Hostile = map[string]string{
	"one word": "a", "capitals": "aA", "digits": "a1", "dots": "a.", "path": "a/b-c.d_", "dashes": "--a",
	"marks":   "\u0301",
	"stacked": "e\u0301\u0302", "han": "数", "thai marks": "ก\u0e35", "thai": "\u0e35", "combined": "한a数1.é_",
	"apostrophe": "a's", "y": "y",
	"ligature": "ﷺ", "versions": "v1.", "emoji": "👩‍👩‍👧", "unseen": "\u200b", "unseen in a word": "a\u00ad\u200b",
	"unseen joint": "a-\u200b", "tatweel": "ـ",
}
