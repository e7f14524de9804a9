package guard

import "regexp"

// denyingForms are verbs that say by their form, and not by a word of their own, that something could not be
// done: Turkish endings (kapatılamadı, kapatamıyorum), and in Finnish and Hungarian, which no lexicon knows, the word
// that denies with the form that it takes (ei voitu, en pystynyt, nem sikerült, nem zárható be). Texts are folded, so ı is i.
var denyingForms = regexp.MustCompile(`\pL\pL(?:amad|emed)i(?:m|k|n|niz|lar|ler)?(?:\PL|$)` +
	`|\pL\pL(?:ama|eme)miş\pL{0,4}(?:\PL|$)` +
	`|\pL\pL(?:am|em)iyor\pL{0,4}(?:\PL|$)` +
	`|(?:^|\PL)(?:ei|eivät|emme) (?:\pL+ )?\pL{2,}(?:nut|nyt|neet|tu|ty)(?:\PL|$)` +
	`|(?:^|\PL)en (?:\pL+ )?\pL{2,}(?:nut|nyt)(?:\PL|$)` +
	`|(?:^|\PL)nem (?:sikerült|lehetett|tud\pL+|(?:volt )?\pL{2,}(?:ható|hető))(?:\PL|$)`)

// deniesByForm reports whether a text says so.
func (r *reading) deniesByForm() bool { return denyingForms.Match(r.text) }
