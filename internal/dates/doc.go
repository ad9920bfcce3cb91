// Package dates finds the dates that texts and queries name, in the written forms of many languages, and measures how
// near a text is to the dates of a query.
package dates
