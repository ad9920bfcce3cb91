package analysis

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// questionPhrases are the phrases of questions in scripts without spaces, and in Korean. They mean "what is", "where
// is", "how to", "who", "when", "why". Their bigrams are stop words of a query. The languages are Chinese in both
// scripts, Japanese, Korean, Thai, Lao, Khmer and Burmese.
var questionPhrases = indexPhrases(`
什么 什么是 是什么 是什么意思 什么时候 什么时间 什么地方 什么样 什么样的 为什么 为什么是 为何 哪里 在哪里 在哪 在哪儿 哪儿 哪个 哪一个 哪些 哪位
哪一年 哪年 谁 谁是 是谁 如何 怎么 怎样 怎么样 怎么办 多少 有多少 多久 几个 有几个 何时 何处 何种 是否 能否 可以吗 有哪些 请问 吗 呢
什麼 什麼是 是什麼 是什麼意思 什麼時候 什麼時間 什麼地方 什麼樣 什麼樣的 為什麼 為何 哪裡 在哪裡 哪裏 在哪裏 哪個 哪一個 誰 誰是 是誰 怎麼 怎樣 怎麼樣 怎麼辦 多久 幾個 有幾個
何時 何處 何種 請問 嗎
何 何で 何です 何ですか 何でしょう 何でしょうか とは何 とは何ですか とは何か は何 は何ですか 何という 何といいますか なに なん なぜ どこ どこです どこですか はどこ はどこですか
どこに どこで どこにあり どこにありますか どこにある
いつ いつです いつですか はいつ はいつですか 誰ですか だれ だれですか は誰 は誰ですか どう どうして どうすれば どうすればいい どうやって どの どのように どのような
どのくらい どれ どれです どれですか どんな どちら いくつ いくつです いくつですか いくら 何人 何年
ですか でしょうか ましたか ますか ありますか いますか しましたか しますか でしたか ください 教えて 教えてください について教えてください
무엇 무엇인가 무엇인가요 무엇입니까 무엇이 무엇을 뭐 뭐야 뭐예요 뭔가요 어디 어디에 어디에서 어디서 어디인가요 어디입니까 어디야 언제 언제인가요 언제입니까 누구 누구인가요
누구입니까 누가 왜 어떻게 어떤 어느 무슨 얼마나 얼마 몇
인가요 입니까 있나요 있습니까 하나요 합니까 했나요 했습니까 되나요 됩니까 되었나요 되었습니까 할까요 알려줘 알려주세요
อะไร คืออะไร อะไรคือ คือ ที่ไหน อยู่ที่ไหน อยู่ไหน ไหน เมื่อไร เมื่อไหร่ เมื่อใด ใคร ใครคือ คือใคร
ทำไม เพราะอะไร อย่างไร ได้อย่างไร ทำอย่างไร ยังไง เท่าไร เท่าไหร่ เท่าใด กี่ หรือไม่ ไหม วิธี
วิธีการ
ແມ່ນຫຍັງ ຫຍັງ ຢູ່ໃສ ໃສ ເມື່ອໃດ ໃຜ ເປັນຫຍັງ ແນວໃດ ຢ່າງໃດ ເທົ່າໃດ
អ្វី ជាអ្វី គឺជាអ្វី អ្វីជា នៅឯណា ឯណា នៅទីណា ពេលណា នរណា ហេតុអ្វី យ៉ាងដូចម្តេច ដូចម្តេច ប៉ុន្មាន
ဘာ ဘာလဲ ဘယ်မှာ ဘယ်မှာလဲ ဘယ်သူ ဘယ်သူလဲ ဘယ်အချိန် ဘာကြောင့် ဘယ်လို ဘယ်လောက်`)

// indexPhrases lists phrases in normal form by their first character, the longest first.
func indexPhrases(text string) map[rune][]string {
	index := map[rune][]string{}
	for _, p := range strings.Fields(NormalizeNFKC(text)) {
		first, _ := utf8.DecodeRuneInString(p)
		index[first] = append(index[first], p)
	}
	for _, list := range index {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return index
}

// QuestionSpans returns the byte ranges of question phrases in a run of characters, in order.
func QuestionSpans(run string) (parts [][2]int) {
	for i := 0; i < len(run); {
		r, size := utf8.DecodeRuneInString(run[i:])
		for _, p := range questionPhrases[r] {
			if strings.HasPrefix(run[i:], p) {
				size = len(p)
				if n := len(parts) - 1; n >= 0 && parts[n][1] == i {
					parts[n][1] = i + size
				} else {
					parts = append(parts, [2]int{i, i + size})
				}
				break
			}
		}
		i += size
	}
	return parts
}
