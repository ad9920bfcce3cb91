// Package relevance reads judged datasets, sends their queries to a server, and grades the results.
//
// A dataset is a folder with two files of JSON lines. docs.jsonl holds the texts,
//
//	{"group": "conv-26", "id": "D3:14", "title": "", "text": "..."}
//
// and queries.jsonl the queries, with the ids of the relevant texts and a grade for each:
//
//	{"group": "conv-26", "id": "q7", "text": "...", "relevant": {"D3:14": 1}}
//
// A query searches the texts of its group only, and ids are unique in their group. group and title may be absent, and
// so may the id of a query. An id NAME:NUMBER belongs to a part. The texts with the same NAME in a group are one
// conversation or document, in the order of their numbers.
package relevance
