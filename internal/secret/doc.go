// Package secret finds credentials and private keys in texts before they are stored. It knows published formats and
// guesses little. A text refused by mistake costs more trust than a home-made password costs safety.
//
// # Rules
//
// Rules have the ids of gitleaks, where their formats are documented. Formats that gitleaks lacks have names of the
// same style. Rules are of four kinds, the most specific first:
//
//   - private keys, PEM blocks (RFC 7468, RFC 4880), whole or cut off;
//   - tokens recognized by their own prefix or shape (token_rules.txt);
//   - values without a shape of their own, which count only when assigned to a
//     name that contains the provider, and mostly a credential word too (assigned_rules.txt);
//   - passwords in URLs, in HTTP headers and in .netrc files, and random values
//     assigned to names such as api_key and DB_PASS.
//
// # Boundaries of a token
//
// A prefix with a mark in it, such as loci_live_ or glpat-, ends no word: such a token is found behind any byte. Any
// other token is found behind all bytes but letters and digits. Behind these it is found only where another secret
// ends.
//
// A token ends where its alphabet ends. A token of fixed length also ends there if the marks _ - . ~ follow and then no
// letter or digit. Those marks belong to the text, as does a dot behind any token, and _ if as many precede it. If
// letters of its alphabet follow, it is a token only with a prefix that has a mark and a random body. The body is
// checked behind a letter as well: sm_pat_configurationOptions is a name. A value without a shape of its own is never a
// piece of a word.
//
// A short prefix such as EAAA occurs in base64 by chance. So a token is ignored where a long run of base64 continues
// beside it, unless another secret ends there.
//
// A value may contain symbols where it is assigned to a name. It ends with its quotes, or at white space. The function
// looksShuffled separates it from code and words.
//
// # One pass
//
// [Scan] reads the text once, from its end to its start. It looks up each three bytes, in lower case, in a table of all
// anchors: the fixed pieces of the formats. A format is checked at its anchors only, byte by byte, without regular
// expressions. The direction matters, because the scan of all to the right is done. So a token is found where another
// secret begins directly behind it, and [Redact] uncovers no new secret.
package secret
