package dates

import (
	"strings"
	"sync"

	"github.com/loci-memory/loci/internal/analysis"
)

// A month is the meaning of a word: the number of the month, and how dates use the word.
type month struct {
	number      int
	english     bool // a day may follow it
	abbreviated bool // abbreviated in another language: it needs a day and a year, because many are words elsewhere
	ambiguous   bool // also another word: without a year it needs a capital or an ordinal
}

// Names of months from the Unicode Common Locale Data Repository, release 45: calendar "gregorian", widths "wide" and
// "abbreviated", "format" and "stand-alone". It lacks the locative, with which Russian, Ukrainian and Polish name the
// month of an event. That is the third of three forms here.
var (
	englishMonths = []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr may jun jul aug sep|sept oct nov dec",
	}
	wideMonths = []string{
		/* de */ "januar|jänner februar|feber märz|maerz april mai juni juli august september oktober november " +
			"dezember",
		/* fr */ "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		/* es */ "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre",
		/* it */ "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		/* pt */ "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		/* nl */ "januari februari maart april mei juni juli augustus september oktober november december",
		/* pl */ "styczeń|stycznia|styczniu luty|lutego|lutym marzec|marca|marcu kwiecień|kwietnia|kwietniu " +
			"maj|maja|maju czerwiec|czerwca|czerwcu lipiec|lipca|lipcu sierpień|sierpnia|sierpniu " +
			"wrzesień|września|wrześniu październik|października|październiku listopad|listopada|listopadzie " +
			"grudzień|grudnia|grudniu",
		/* ru */ "январь|января|январе февраль|февраля|феврале март|марта|марте апрель|апреля|апреле май|мая|мае " +
			"июнь|июня|июне июль|июля|июле август|августа|августе сентябрь|сентября|сентябре октябрь|октября|октябре " +
			"ноябрь|ноября|ноябре декабрь|декабря|декабре",
		/* uk */ "січень|січня|січні лютий|лютого|лютому березень|березня|березні квітень|квітня|квітні " +
			"травень|травня|травні червень|червня|червні липень|липня|липні серпень|серпня|серпні " +
			"вересень|вересня|вересні жовтень|жовтня|жовтні листопад|листопада|листопаді грудень|грудня|грудні",
		/* tr */ "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
	}
	shortMonths = []string{
		/* de */ "jan feb mär apr mai jun jul aug sept okt nov dez",
		/* fr */ "janv févr mars avr mai juin juil août sept oct nov déc",
		/* es */ "ene feb mar abr may jun jul ago sept oct nov dic",
		/* it */ "gen feb mar apr mag giu lug ago set ott nov dic",
		/* pt */ "jan fev mar abr mai jun jul ago set out nov dez",
		/* nl */ "jan feb mrt apr mei jun jul aug sep okt nov dec",
		/* pl */ "sty lut mar kwi maj cze lip sie wrz paź lis gru",
		/* ru */ "янв февр мар апр мая июн июл авг сент окт нояб дек",
		/* uk */ "січ лют бер квіт трав черв лип серп вер жовт лист груд",
		/* tr */ "oca şub mar nis may haz tem ağu eyl eki kas ara",
	}
)

// months has all names without accents. A name in several languages has its meaning in the first.
var months = sync.OnceValue(func() map[string]month {
	all := map[string]month{}
	add := func(rows []string, like month) {
		for _, row := range rows {
			for i, names := range strings.Fields(row) {
				for name := range strings.SplitSeq(names, "|") {
					unaccented, _, _ := analysis.Unaccent(nil, []byte(name))
					if _, ok := all[string(unaccented)]; !ok {
						m := like
						m.number, m.ambiguous = i+1, like.english && (len(name) < 4 || name == "march" ||
							name == "sept")
						all[string(unaccented)] = m
					}
				}
			}
		}
	}
	add(englishMonths, month{english: true})
	add(wideMonths, month{})
	add(shortMonths, month{abbreviated: true})
	return all
})
