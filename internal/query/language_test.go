package query

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/index/indextest"
)

// languageSamples are workspaces of eight memories, by language.
var languageSamples = map[string][]string{
	"German": {"Die Rechnungen der Lieferanten liegen im Keller", "Der Drucker braucht Tinte",
		"Das Lager wird im Juni inventarisiert", "Im Sommer ist die Kantine geschlossen",
		"Der Mietvertrag endet bald", "Die Heizung ist laut", "Neue Kollegen bekommen einen Laptop",
		"Der Parkplatz liegt vor dem Haus"},
	"Spanish": {"Las facturas de los proveedores", "La impresora necesita tinta negra", "Las copias antiguas se borran",
		"La llave cuelga junto a la puerta",
		"Las bicicletas se dejan en el patio", "El comedor cierra en verano", "El ascensor se revisa en marzo",
		"La base se copia cada noche"},
	"French": {"Les factures des fournisseurs", "L'imprimante manque d'encre noire",
		"Les anciennes sauvegardes sont supprimées", "La cave est fermée",
		"Les vélos vont dans la cour", "La cantine ferme en été", "Le chauffage fait trop de bruit",
		"Le camion est d'occasion"},
	"Polish": {"Faktury sprawdza księgowość", "Drukarka nie ma czarnego tuszu", "Stare kopie usuwamy po kwartale",
		"Klucz wisi obok drzwi",
		"Rowery zostawiamy na podwórku", "Stołówka jest zamknięta latem", "Winda stoi w marcu",
		"Baza kopiuje się nocą"},
	"Turkish": {"Faturalar muhasebede duruyor", "Yazıcının mürekkebi bitti", "Eski yedekler siliniyor",
		"Bodrumun kapısı kilitli",
		"Bisikletler avluda duruyor", "Yemekhane yazın kapalı", "Asansör martta bakımda", "Kalorifer çok ses yapıyor"},
	"Vietnamese": {"Hóa đơn của nhà cung cấp để trong tủ", "Máy in có thể hết mực", "Bản sao cũ có thể bị xóa",
		"Chìa khóa ở cạnh cửa",
		"Xe đạp có thể để ngoài sân", "Nhà ăn đóng cửa mùa hè", "Thang máy có thể bảo trì",
		"Cơ sở dữ liệu sao lưu mỗi đêm"},
	"English": {"The invoices of suppliers and customers", "The printer needs ink", "Old copies are deleted from it",
		"The key hangs at the door",
		"Bicycles stay in the yard, with others", "The canteen is closed in summer", "The lift stops in March",
		"The heating is loud"},
	"code": {"if err != nil { return err }", "let total = sum(invoices)", "SELECT name FROM suppliers",
		"def close(self): pass",
		"func (p *printer) print() {}", "const retries = 3", "use std::fmt;", "for (;;) {}"},
}

func TestPrefixExpansionAppliesToOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, query string }{
		{"German", "Rechnung Lieferant"}, {"Spanish", "factura proveedor"}, {"French", "facture fournisseur"},
		{"Polish", "fakturami"}, {"Turkish", "faturayi"},
	} {
		d := indextest.NewStore()
		v := buildSnapshot(t, d, languageSamples[c.language]...)
		q, r, err := Search(v, index.NewCache(0), d.Fetch, Parse(c.query), index.Filter{}, 0, 3)
		if err != nil || len(r.Hits) != 1 || r.Hits[0].Memory != 1 || len(q.expansionTerms) != q.wordCount {
			t.Errorf("%s: %s finds %v, %v", c.language, formatTerms(q), r.Hits, err)
		}
	}
}

func TestLanguageOfAmbiguousQueryIsThatOfWorkspace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		language, query string
		widened         bool
	}{
		{"German", "invoice printers", true},
		{"Vietnamese", "invoice printers", true},
		{"English", "invoice printers", false},
		{"English", "Rechnung Lieferant", false},
		{"code", "invoice printers", false},
		{"German", "where is the invoice of the printers", false},
		{"German", `"invoice printers"`, false},
		{"German", "das ist neu", false},
	} {
		d := indextest.NewStore()
		lines := languageSamples[c.language]
		v := buildSnapshot(t, d, append(lines, "invoicing printer")...)
		q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse(c.query))
		if widened := len(q.expansionTerms) > 0; err != nil || widened != c.widened {
			t.Errorf("%s: %s, %v", c.language, formatTerms(q), err)
		}
	}
}

func TestLanguageIsUnknownForFewMemories(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	for n, widened := range map[int]bool{minLanguageDocs - 1: false, minLanguageDocs: true} {
		q, err := rewriteQuery(buildSnapshot(t, d, languageSamples["German"][:n]...), index.NewCache(0), d.Fetch,
			Parse("Rechnung Lieferant"))
		if err != nil || len(q.expansionTerms) > 0 != widened {
			t.Errorf("%d memories: %s, %v", n, formatTerms(q), err)
		}
	}
}

// An updated or deleted memory leaves its words in the segment.
func TestLanguageIgnoresDeletedMemories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		english int // memories with English words
		deleted int // of them
		widened bool
	}{{0, 0, true}, {1, 0, true}, {2, 0, false}, {9, 9, true}, {9, 8, true}, {9, 7, false}, {30, 0, false}} {
		d := indextest.NewStore()
		var list, deletedCount []index.DocUpdate
		for i := range 9 {
			list = append(list, indextest.Update(int64(i+1), int64(i+1), fmt.Sprint("Rechnungen ", i)))
		}
		for i := range c.english {
			list = append(list, indextest.Update(int64(i+10), int64(i+10), "invoices and printers"))
		}
		for i := range c.deleted {
			deletedCount = append(deletedCount, index.DocUpdate{Seq: int64(100 + i),
				DocAttributes: index.DocAttributes{Memory: int64(i + 10)}, Deleted: true})
		}
		q, err := rewriteQuery(d.Flush(t, 1, list).Apply(deletedCount), index.NewCache(0), d.Fetch, Parse("Rechnung"))
		if err != nil || len(q.expansionTerms) > 0 != c.widened {
			t.Errorf("%d, of them dead %d: %s, %v", c.english, c.deleted, formatTerms(q), err)
		}
	}
}

// Memories of another workspace count for nothing, and the query stays as it was.
func TestLanguageUsesOneWorkspace(t *testing.T) {
	t.Parallel()
	q := Parse("factura proveedor")
	for _, language := range []string{"Spanish", "English", "Spanish", "code"} {
		d := indextest.NewStore()
		got, err := rewriteQuery(buildSnapshot(t, d, languageSamples[language]...), index.NewCache(0), d.Fetch, q)
		if widened := len(got.expansionTerms) > 0; err != nil || widened != (language == "Spanish") || q.expandsWords ||
			q.expandsASCII {
			t.Errorf("%s: %s, %v", language, formatTerms(got), err)
		}
	}
}

func TestLanguageOfQueryIsNotAmbiguousWithStopWords(t *testing.T) {
	t.Parallel()
	for query, open := range map[string]bool{
		"deployment container registry": true, "faktury": true, "café menu": true, "Rechnung in Kopie": true,
		"is kubernetes deployed safely":  true,
		"where is the parser configured": false, "welche Rechnungen": false, "où sont les clés": false,
		"Где docker": false, "what if docker fails": false, "docker 镜像": true, "": false,
	} {
		if q := Parse(query); q.ambiguousLanguage != open {
			t.Errorf("%q: %v", query, q.ambiguousLanguage)
		}
	}
}

func TestStopWordsOfAmbiguousQueryAreWeakenedOnce(t *testing.T) {
	t.Parallel()
	d := indextest.NewStore()
	v := buildSnapshot(t, d, languageSamples["French"]...)
	q, err := rewriteQuery(v, index.NewCache(0), d.Fetch, Parse("la recette de la crème"))
	weight := stopWordWeight * queryTermFreqWeight(2)
	if at, ok := q.termIndex["la"]; err != nil || !ok || !q.expandsASCII || q.terms[at].weight != weight {
		t.Errorf("%s, want la:%.2f, %v", formatTerms(q), weight, err)
	}
}
