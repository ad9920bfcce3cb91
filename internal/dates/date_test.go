package dates

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/testenv"
)

// formatDates writes dates as 2023-05-07, 2023-05 or 05-07.
func formatDates(list []Date) string {
	var out []string
	for _, d := range list {
		layout := "2006-01-02"
		switch {
		case d.yearly:
			layout = "01-02"
		case d.from != d.to:
			layout = "2006-01"
		}
		out = append(out, time.Unix(d.from*secondsOfDay, 0).UTC().Format(layout))
	}
	return strings.Join(out, " ")
}

func TestDatesParsesWrittenForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// English
		"what happened on 7 May 2023?": "2023-05-07", "May 7th, 2023": "2023-05-07", "7th of may 2023": "2023-05-07",
		"Sept. 5, 2023": "2023-09-05",
		"in may 2023":   "2023-05", "May of 2023": "2023-05", "Dec 2023": "2023-12",
		"[1:56 pm on 8 May, 2023] Caroline": "2023-05-08", "3-7 May 2023": "2023-05-07",
		"07/May/2023:21:30:00 GET": "2023-05-07", "from 1 May 2023 to June 7, 2023": "2023-05-01 2023-06-07",
		"due May 7": "05-07", "met on aug 15th": "08-15", "7 june": "06-07",
		// numbers
		"2023-05-07": "2023-05-07", "2023-05-07T21:30Z": "2023-05-07", "at 2023-05-07t21": "2023-05-07",
		"2023-05 and later": "2023-05", "/2023/05/07/": "2023-05-07",
		"7.5.2023": "2023-05-07", "am 07.05.2023.": "2023-05-07", "7. 5. 2023": "2023-05-07",
		"31/05/2023": "2023-05-31", "05/31/2023": "2023-05-31", "05/05/2023": "2023-05-05",
		"31-05-2023": "2023-05-31", "2023.05.07": "2023-05-07", "2023. 5. 7.": "2023-05-07",
		// other languages
		"am 7. Mai 2023": "2023-05-07", "7.März 2023": "2023-03-07", "im Maerz 2023": "2023-03",
		"3. Dez. 2023": "2023-12-03", "JÄNNER 2023": "2023-01",
		"le 1er août 2023": "2023-08-01", "en février 2023": "2023-02", "fevrier 2023": "2023-02", "7 mars": "03-07",
		"14 juil. 2023":        "2023-07-14",
		"el 7 de mayo de 2023": "2023-05-07", "7 de mayo del 2023": "2023-05-07", "setiembre de 2023": "2023-09",
		"7 de mayo":      "05-07",
		"1º maggio 2023": "2023-05-01", "7 set 2023": "2023-09-07", "1º de março de 2023": "2023-03-01",
		"3 out. 2023": "2023-10-03", "7 mei 2023": "2023-05-07", "5 mrt 2023": "2023-03-05",
		"7 maja 2023 r.": "2023-05-07", "w październiku 2023r.": "2023-10", "pazdziernik 2023": "2023-10",
		"7 мая 2023 года": "2023-05-07", "7-го мая 2023г.": "2023-05-07",
		"в августе 2009 года": "2009-08", "МАЙ 2023": "2023-05", "5 сент. 2023": "2023-09-05",
		"7 травня 2023 року": "2023-05-07", "у липні 2023": "2023-07",
		"7 Mayıs 2023'te": "2023-05-07", "ARALIK 2023": "2023-12", "Kasim 2023": "2023-11",
		"2023年5月7日": "2023-05-07", "在2009 年 8 月，有多少": "2009-08", "２０２３年５月７号": "2023-05-07", "1978年の5月から": "1978-05",
		"5月7日の会議":      "05-07",
		"2023년 5월 7일에": "2023-05-07", "2023년 5월": "2023-05", "5월 7일": "05-07", "٧ may ٢٠٢٣": "2023-05-07",
	} {
		testenv.Equal(t, formatDates(Parse(text)), want, text)
	}
}

func TestDatesIgnoresOtherNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"the rover on Mars", "we may march", "set it out", "in May", "on a May day", "mai et mars", "March", "",
		"we set 2000 as the limit", "version 3 out", "Section 4 may apply", "we may 5 times", "they march 5 miles",
		"dec 10 oct 12", "5 set", "layer 3 may be dropped",
		"2023", "in 2023", "2023/24", "CVE-2024-3094", "v2023-05-07", "1.2.3", "2023.1.2", "05/07/2023", "07-05-2023",
		"30.2.2023", "2023-13-01", "7.5.2023.1", "1.7.5.2023",
		"May 1,000", "at May 10:30", "10:30 May", "令和5年5月7日", "1878年5月", "5月", "99年5月7日", "12023-05-07", "lip 2023",
		"7 Mai2023px", "7 mayo3 2023", "0 May", "May 0", "00.05.2023",
	} {
		testenv.Equal(t, formatDates(Parse(text)), "", text)
	}
}

// How CLDR writes a day in each language ("long").
func TestDatesParsesMonthsOfAllLanguages(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]string{englishMonths, wideMonths, shortMonths} {
		for _, row := range rows {
			fields := strings.Fields(row)
			testenv.RequireEqual(t, len(fields), 12, row)
			for i, names := range fields {
				for name := range strings.SplitSeq(names, "|") {
					want := fmt.Sprintf("2023-%02d-17", i+1)
					for _, form := range []string{"17 %s 2023", "17. %s 2023", "17 de %s de 2023", "17-%s-2023",
						"am 17 %s, 2023."} {
						for _, name := range []string{name, strings.ToUpper(name)} {
							testenv.Equal(t, formatDates(Parse(fmt.Sprintf(form, name))), want, form, name)
						}
					}
				}
			}
		}
	}
}

func TestDatesReturnsValidDates(t *testing.T) {
	t.Parallel()
	pieces := []string{"7", "07", "31", "2023", "1999", "12023", "May", "mars", "мая", "de", "of", ".", ",", "-", "/",
		":", " ", " ", "年", "月", "日", "년", "월", "일", "の", "th", "-го", "T", "x", "é", "数", "٣"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 14).Draw(t, "text"), "")
		list := Parse(text)
		for _, d := range list {
			first := time.Unix(d.from*secondsOfDay, 0).UTC()
			if days := d.to - d.from; days != 0 && (first.Day() != 1 ||
				first.AddDate(0, 1, -1).Unix() != d.to*secondsOfDay) || first.Year() < 1900 || first.Year() > 2099 {
				t.Fatalf("%q is read as %+v", text, d)
			}
		}
		if again := Parse("a. " + text + " b"); !slices.Equal(list, again) {
			t.Fatalf("%q is read as %v, and among words as %v", text, list, again)
		}
	})
}
