// Package retrieval reads judged sets, asks a server their questions, and
// computes how good its answers are.
//
// A set is a folder with two files of JSON lines. docs.jsonl holds the texts,
//
//	{"group": "conv-26", "id": "D3:14", "title": "", "text": "..."}
//
// and queries.jsonl the questions, with the ids of the texts that answer them
// and how well each one does:
//
//	{"group": "conv-26", "id": "q7", "text": "...", "relevant": {"D3:14": 1}}
//
// A question is asked among the texts of its group alone, and ids are those of
// their group. group and title may be absent, and so may be the id of a
// question. An id NAME:NUMBER is that of a part: the texts with the same NAME
// in a group are one conversation or document, in the order of their numbers.
package relevance
