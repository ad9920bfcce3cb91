package analysis

import "strings"

// stopWords are English words without information in a question, and the halves of words with an apostrophe. They are
// indexed. A query drops them, unless it has no other words.
var stopWords = wordSet(`
a about above after again against all also am an and any are aren as at be because been before being below between
both but by can could couldn did didn do does doesn doing don down during each few for from further get gets had hadn
has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just let ll
me more most mustn my myself no nor not now of off on once only or other our ours ourselves out over own re same she
should shouldn so some such than that the their theirs them themselves then there these they this those through to too
under until up upon us use used using ve very was wasn we were weren what when where which while who whom whose why
will with won would wouldn you your yours yourself yourselves`)

// foreignMarkers are frequent words of other languages in Latin letters that are hardly English words. A query with
// one of them is hardly English. The languages are Spanish, Portuguese, French, Italian, German, Dutch, Swedish,
// Danish, Norwegian, Polish, Czech, Romanian, Hungarian, Finnish, Turkish, Indonesian and Vietnamese.
var foreignMarkers = wordSet(`
cual cuales cuando como desde donde durante el ella ellos entre esta este estos fue hasta las los para pero por porque quien segun sobre sus tiene una unas unos
foi mais onde pela pelo quais qual quando quem seu sua uma
avec cette dans dont elle etait leur leurs lorsque mais nous ou ont pas quel quelle quelles quels qui sont une vous
alla anche che chi cosa dal dalla degli della delle gli nel nella perche piu quale sono stato sul sulla tra
als auch auf aus bei das dass dem den der durch ein eine einem einen einer eines fuer ihre ist kann nach nicht oder sich sie sind und vom waren wann warum welche welcher welches werden wie wird wo wurde zum zur
aan bij deze dit een het naar niet ook uit voor waar waarom wat welk welke werd zijn
av blev eller ett fra har hvad hvem hvor hvorfor och ikke inte jag kan og paa som til vad vilka vilken
czy dla jak jest kiedy ktora ktore ktory nie od oraz przez sie
byl byla jako jsou kde kdo kdy ktery nebo
cine cum cand este prin pentru sau sunt unde
egy hogy mikor mely milyen nem
joka jotka kuinka milloin missa oli ovat
bir bu hangi icin ile kac kim nasil neden nerede olan
adalah apa apakah dari dengan itu mana oleh pada siapa untuk yang
cua nhung trong`)

// IsStopWord reports whether a word is an English stop word.
func IsStopWord(word string) bool { return stopWords[word] }

// IsForeignMarker reports whether a word marks a query as one of another language in Latin letters.
func IsForeignMarker(word string) bool { return foreignMarkers[word] }

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
