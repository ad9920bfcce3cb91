package minhash

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/analysis/analysistest"
)

// benchTexts are texts of one kilobyte.
var benchTexts = map[string]string{
	"english": (analysistest.Prose + " " + analysistest.Prose)[:1024],
	"russian": strings.Repeat("Выпуски заморожены с вечера пятницы до утра понедельника: никто не хочет "+
		"просыпаться. ", 10)[:1024],
	"chinese":  strings.Repeat("从星期五下午到星期一早上，不发布任何新版本，因为周末没有人愿意被叫醒。", 12)[:1023],
	"japanese": strings.Repeat("金曜日の午後から月曜日の朝まで、デプロイは凍結されます。", 14)[:1023],
	"decomposed": strings.Repeat("Les de\u0301ploiements sont gele\u0301s du vendredi a\u0300 lundi matin. ",
		18)[:1024],
	"thai":  strings.Repeat("ไม่มีการเผยแพร่ตั้งแต่บ่ายวันศุกร์จนถึงเช้าวันจันทร์ ", 8)[:1023],
	"hindi": strings.Repeat("शुक्रवार दोपहर से सोमवार सुबह तक कोई तैनाती नहीं होगी। ", 8)[:1023],
}

func BenchmarkBands(b *testing.B) {
	for name, text := range benchTexts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Bands(text)
			}
		})
	}
}

// BenchmarkJaccard makes the sets of two notes and compares them.
func BenchmarkJaccard(b *testing.B) {
	for name, text := range benchTexts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			other := text[:len(text)/2] + " wholly " + text[len(text)/2:]
			for b.Loop() {
				NewShingles(text).Jaccard(NewShingles(other))
			}
		})
	}
}

// BenchmarkBandsHostile hashes 256 KiB of the most expensive texts.
func BenchmarkBandsHostile(b *testing.B) {
	for name, piece := range analysistest.Hostile {
		text := strings.Repeat(piece, 1<<18/len(piece))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Bands(text)
				NewShingles(text)
			}
		})
	}
}
