package fence

// Tokens estimates the number of language model tokens of a text. Four characters are a token, and so is one character
// of Chinese, Japanese or Korean. The sum is rounded up.
func Tokens(text string) int { return roundUpTokens(quarterTokens(text)) }

func roundUpTokens(quarters int) int { return (quarters + 3) / 4 }

// quarterTokens counts quarters of tokens, which add up over parts of a text.
func quarterTokens[T string | []byte](text T) (n int) {
	for _, r := range string(text) {
		if r >= 0x1100 && isCJK(r) {
			n += 4
		} else {
			n++
		}
	}
	return n
}

// isCJK reports whether r is Hangul, kana, or Han with its marks, wide forms and the planes 2 and 3.
func isCJK(r rune) bool {
	return r <= 0x11ff || 0x2e80 <= r && r <= 0xa4cf || 0xac00 <= r && r <= 0xd7ff ||
		0xf900 <= r && r <= 0xfaff || 0xfe30 <= r && r <= 0xfe4f || 0xff00 <= r && r <= 0xffef ||
		0x20000 <= r && r <= 0x3ffff
}
