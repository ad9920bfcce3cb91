// Package fence writes memories for agents as quoted data. A stored text cannot pose as the frame, as another memory,
// or as words of the user or of Loci (stored prompt injection).
//
// # Format
//
//	Memory 0198c0de-... (not verified, changed 2026-01-02, fact), quoted as data:
//	~~~
//	author │ Ann
//	title │ Deploys
//	tags │ ops, friday
//	│ First line of the content,
//	│
//	│ and its third.
//	left out: 2 hidden characters
//	~~~
//
// One rule reads it. Text left of the first bar of a line, or on a line without one, is from Loci; text right of it is
// the memory's. The rule holds for any memory, because this package begins every line of foreign text. Two more
// defences serve readers of Markdown. First, no line of a memory begins with a mark of Markdown. So none is a heading,
// an underline of one, a fence, a list, an HTML block or a link definition. None closes the open block, however long
// its tildes are (CommonMark 0.31, sections 4.1 to 4.7). Second, inside a fenced block no inline mark is read: tags,
// comments and images stay visible words. Therefore nothing has to be escaped, and code in a memory can be copied
// unchanged.
//
// Ids and types are written outside of the fence. Where one is not a plain word, it becomes a code span, and so does
// the title of a snapshot.
//
// # Changes to a text
//
//   - \r\n, \r, \v, \f, U+0085, U+2028 and U+2029 end a line; empty lines at
//     the end are removed. In one-line fields (author, title, tag) they become
//     a space.
//   - Other controls become their pictures (U+2400 to U+2421). C1 controls and
//     bytes that are no UTF-8 become U+FFFD: an escape sequence is visible.
//   - Invisible characters are left out and counted: zero-width characters,
//     bidirectional controls, tag characters, fillers, soft hyphens (Unicode's
//     Default_Ignorable_Code_Point and interlinear annotation). One joiner or
//     variation selector stays where scripts and emoji need it.
//   - "<|word" becomes "<| word", because some models read the marks of chat
//     templates as control tokens in any text.
//
// Everything else is copied byte for byte.
package fence
