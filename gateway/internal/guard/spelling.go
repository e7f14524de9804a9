package guard

import (
	"strings"
	"unicode/utf8"
)

// plainLetters are letters as programs spell them, who avoid accents. The umlauts have
// two such forms, of which this is the one that other languages use too.
var plainLetters = strings.NewReplacer(
	"ä", "a", "á", "a", "à", "a", "â", "a", "ã", "a", "å", "a", "ą", "a", "ç", "c", "ć", "c", "é", "e", "è", "e", "ê", "e", "ë", "e", "ę", "e",
	"ğ", "g", "í", "i", "ì", "i", "î", "i", "ï", "i", "ł", "l", "ñ", "n", "ń", "n", "ö", "o", "ó", "o", "ò", "o", "ô", "o", "õ", "o",
	"ş", "s", "ś", "s", "ß", "ss", "ü", "u", "ú", "u", "ù", "u", "û", "u", "ź", "z", "ż", "z",
)

// umlauts are letters as German programs spell them.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")

// ofUmlauts undoes that, which not every word survives: only words that are asked for are
// looked up with it.
var ofUmlauts = strings.NewReplacer("ae", "ä", "oe", "ö", "ue", "ü")

// spellings are the things that words stand for which programs write without accents. An
// open word may have any ending.
type spellings struct{ exact, open map[string]things }

// add notes how programs spell a word, if that is another form.
func (p *spellings) add(word string, open bool, t things) {
	for _, spelled := range [2]string{plainLetters.Replace(word), umlauts.Replace(word)} {
		if spelled == word || strings.IndexByte(spelled, ' ') >= 0 {
			continue
		}
		list := p.exact
		if open {
			list = p.open
		}
		if _, known := list[spelled]; !known {
			list[spelled] = t
		}
	}
}

// thing returns what a word in the name of a tool stands for.
func (p *spellings) thing(word string) things {
	if t, found := p.exact[word]; found {
		return t
	}
	for end := len(word); end > 2 && utf8.RuneCountInString(word[end:]) <= maxEnding; end-- {
		if t, found := p.open[word[:end]]; found {
			return t
		}
	}
	return things{}
}
