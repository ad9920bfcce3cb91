// Package fence writes memories for agents as quoted data, so that a text which
// somebody stored cannot pose as anything else: not as the frame, not as another
// memory, not as words of the user or of Loci (stored prompt injection).
//
// # Form
//
//	Memory 0198c0de-... (not verified, fact), quoted as data:
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
// One rule reads it: what stands left of the first bar of a line, or on a line
// without one, is from Loci; what stands right of it is the memory's. It holds
// whatever the memory says, because every line of foreign text is begun by this
// package. Two more walls stand behind it for readers of Markdown. No line of a
// memory begins with a mark of Markdown, so none is a heading, an underline of
// one, a fence, a list, an HTML block or a link definition, and none closes the
// block that we opened, however long its tildes are (CommonMark 0.31, sections
// 4.1 to 4.7). And inside a fenced block no inline mark is read: tags, comments
// and images stay visible words. Therefore nothing has to be escaped, and code
// in a memory can be copied as it was written.
//
// Ids and types stand outside of the fence; what is not a plain word there, and
// the title of a whole snapshot, becomes a code span.
//
// # What is changed in a text
//
//   - \r\n, \r, \v, \f, U+0085, U+2028 and U+2029 end a line; empty lines at the
//     end go. In fields of one line (author, title, tag) they become a space.
//   - Other controls become their pictures (U+2400 to U+2421), those of C1 and
//     bytes that are no UTF-8 become U+FFFD: an escape sequence can be seen.
//   - What cannot be seen is left out and counted: zero-width characters,
//     bidirectional controls, tag characters, fillers, soft hyphens (Unicode's
//     Default_Ignorable_Code_Point and interlinear annotation). One joiner or
//     variation selector stays where scripts and emoji need it.
//   - "<|word" becomes "<| word", so that the marks of chat templates are not
//     taken for control tokens by models that look for them in any text.
//
// Everything else stays byte for byte.
package fence
