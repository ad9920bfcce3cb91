// Package query turns the text of a query into ranked hits of one index snapshot.
//
// # Steps of a search
//
// [Parse] turns the text into words, each with the terms of its forms. These are the word itself, its stem and its
// spelling without accents. [Search] adapts the query to the words of the workspace. It corrects misspelled words,
// breaks compounds and expands prefixes in inflected languages. Of a long query it drops unknown words and then the
// most frequent ones, except at its ends. It scores documents with BM25 and selects the best.
//
// The texts of the best hits then correct the scores. [Result.Rescore] reads chunks and adjacent words, [Hit.BoostDate]
// dates, and [ExactMatcher] quoted phrases and identifiers. [BoostNeighbors] raises memories beside good hits of the
// same conversation. [Matches.Highlights] cuts snippets.
//
// # Scores
//
// A score is one float32 sum in the order of the terms of the query. So scores are equal bit for bit, however the
// documents are distributed over segments and the memtable.
//
// # Measurements
//
// Comments state the reason of a constant as a difference of nDCG@10 on the named dataset. The mode of the searches is
// keyword, and typos are those of package relevance.
package query
