// Package dates finds dates in texts and queries, in the written forms of many languages. It measures how near a text
// is to the dates of a query.
package dates
