// Package secret finds credentials and private keys in texts, before anything
// is stored. It knows published formats only and guesses little: a text that is
// refused for no reason costs more trust than a home-made password costs safety.
//
// # Rules
//
// Rules carry the ids of gitleaks, so that whoever reads a refusal can look the
// format up; [Rules] lists them. Formats that gitleaks lacks have names of the
// same style. Rules are of four kinds, the most specific first:
//
//   - private keys, PEM blocks (RFC 7468, RFC 4880), whole or cut off;
//   - tokens that show by their own prefix or shape what they are (rules_*.go);
//   - values without a shape of their own, which count only when assigned to a
//     name that speaks of the provider, and mostly of a credential too;
//   - passwords in URLs, in HTTP headers and in .netrc files, and random values
//     assigned to names such as api_key and DB_PASS.
//
// # Where a token begins and ends
//
// A prefix with a mark in it, such as loci_live_ or glpat-, ends no word: such a
// token is found behind anything. Any other is found behind all but letters and
// digits, and behind these only where another secret ends there.
//
// A token ends where its alphabet ends. One of a fixed length ends there too if
// the marks _ - . ~ follow and then no letter or digit: they belong to the text,
// as does a dot behind any token, and _ if as many stand before it. If letters of
// its alphabet follow, it is a token only with a prefix that has a mark, and only
// if what is behind the prefix looks drawn by lot, which is asked behind a letter
// as well: sm_pat_configurationOptions is a name. A value without a shape of its
// own, known by the name before it, is never a piece of a word.
//
// A short prefix such as EAAA stands in base64 by chance. A token is none where
// a long run of base64 goes on beside it, unless another secret ends there.
//
// A value may hold symbols where it is assigned to a name. It ends with its
// quotes, or at white space. What tells it from code and words is [shuffled].
//
// # One pass
//
// [Scan] goes over the text once, from its end to its start, and looks up each
// three bytes, case folded, in a table of all anchors: the fixed pieces of the
// formats. Only where an anchor stands is a format checked, byte by byte, with
// no regular expressions. The way backwards matters: what stands to the right
// is known by then, so a token that ends where another secret begins is found
// although its last byte has no boundary in the text, and [Redact] in its turn
// uncovers nothing new.
package secret
