package reference

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// candidate is an object of a result: what it is called, and its value.
type candidate struct {
	text   string
	value  scalar
	folded string
	runes  int // of folded
	bag    *bag
}

// table holds the candidates of one source, the newest first.
type table struct {
	list    []candidate
	results map[string]int // by value: the result that it was taken from
	again   bool           // a result has a value more than once
	byText  index
	folded  index // nil until it is needed
}

// index finds candidates by a text. Those that it finds for one text have different
// values.
type index map[string][]int

// pair is what an index holds once.
type pair struct{ text, value string }

// add takes in a candidate of a result. Results come from the newest to the oldest,
// and what an older one says of a value counts no more: the thing was renamed.
func (t *table) add(text string, value scalar, result int) {
	if t.results == nil {
		t.results = map[string]int{}
	}
	if from, found := t.results[value.text]; !found {
		t.results[value.text] = result
	} else if from != result {
		return
	} else {
		t.again = true
	}
	t.list = append(t.list, candidate{text: text, value: value})
}

func (t *table) full() bool { return len(t.list) >= maxCandidates }

// exact finds the candidates with a text.
func (t *table) exact(text string) []int {
	if t.byText == nil {
		t.byText = t.index(func(c *candidate) string { return c.text })
	}
	return t.byText[text]
}

// fold finds the candidates whose folded text is the same.
func (t *table) fold(folded string) []int {
	if t.folded == nil {
		for i := range t.list {
			c := &t.list[i]
			c.folded = caseless(c.text)
			c.runes = utf8.RuneCountInString(c.folded)
		}
		t.folded = t.index(func(c *candidate) string { return c.folded })
	}
	return t.folded[folded]
}

// index makes one of all candidates but those without a text, which nothing names.
func (t *table) index(key func(*candidate) string) index {
	found := make(index, len(t.list))
	seen := map[pair]bool{}
	for i := range t.list {
		c := &t.list[i]
		p := pair{key(c), c.value.text}
		if strings.TrimSpace(p.text) == "" || seen[p] {
			continue
		}
		if t.again {
			seen[p] = true
		}
		found[p.text] = append(found[p.text], i)
	}
	return found
}

// likeness is how alike a candidate is to a text.
type likeness struct {
	candidate int
	ratio     float64
}

// likenesses is what a fuzzy search finds.
type likenesses struct {
	// alike are the candidates that are alike enough, one for each value, the most alike
	// first, and ratio is the first one's.
	alike []int
	ratio float64
	// near are some candidates that may be meant, the likeliest first.
	near []int
	// complete says that all candidates were compared.
	complete bool
}

// fuzzy compares a folded text with all candidates. fold was called before. work is
// how many runes may be compared yet.
//
// The ratio is the number of runes of the longer text that need no change to become
// the other, by Levenshtein's distance, divided by all. difflib's
// SequenceMatcher.ratio, and indel ratios such as rapidfuzz's, are never lower for
// the same texts: they forgive what one text has beyond the other ("milk" is 0.67 of
// "buy milk" there and 0.5 here) and take a changed letter for half as bad. Here a
// wrong match acts on the wrong thing, and one that is missed costs a question, so it is
// the stricter one; it is also symmetric, which difflib's is not.
//
// Texts that differ in a number are not alike, whatever the ratio: "Invoice 1042"
// is not a slip for "Invoice 1043". Neither are those that differ in words, see
// [wording], and texts of more than 200 runes.
func (t *table) fuzzy(folded string, least float64, work *int) likenesses {
	runes := utf8.RuneCountInString(folded)
	if runes == 0 || runes > maxFuzzy {
		return likenesses{near: t.first(), complete: true}
	}
	var letters bag
	letters.fill(folded)
	var own, other wording
	own.read(folded)
	near := make([]likeness, 0, mostListed+1)
	var alike []likeness
	for i := range t.list {
		c := &t.list[i]
		most := c.most(&letters, runes)
		near = insert(near, likeness{i, most})
		like := false
		if most >= least && sameNumbers(folded, c.folded) {
			other.read(c.folded)
			like = own.like(&other)
		}
		cost := len(letters)
		if like {
			cost += runes * c.runes
		}
		if *work -= cost; *work < 0 {
			return likenesses{}
		}
		if !like {
			continue
		}
		longer := max(runes, c.runes)
		ratio := float64(longer-levenshtein.ComputeDistance(folded, c.folded)) / float64(longer)
		if ratio >= least && own.likeSigns(&other, ratio) {
			alike = append(alike, likeness{i, ratio})
		}
	}
	l := likenesses{near: candidates(near), alike: candidates(t.distinct(alike)), complete: true}
	if len(alike) > 0 {
		l.ratio = alike[0].ratio
	}
	return l
}

func candidates(list []likeness) []int {
	places := make([]int, len(list))
	for i := range list {
		places[i] = list[i].candidate
	}
	return places
}

// most is what the ratio of a text and the candidate can be at most. It is 0 for a
// candidate that is too long to be compared.
func (c *candidate) most(text *bag, runes int) float64 {
	if c.runes == 0 || c.runes > maxFuzzy {
		return 0
	}
	if c.bag == nil {
		c.bag = new(bag)
		c.bag.fill(c.folded)
	}
	longer := max(runes, c.runes)
	return float64(longer-text.distance(c.bag)) / float64(longer)
}

// insert puts l into a list of the mostListed largest.
func insert(list []likeness, l likeness) []likeness {
	at := len(list)
	for at > 0 && list[at-1].ratio < l.ratio {
		at--
	}
	if list = slices.Insert(list, at, l); len(list) > mostListed {
		list = list[:mostListed]
	}
	return list
}

// distinct leaves the most alike candidate of each value.
func (t *table) distinct(list []likeness) []likeness {
	slices.SortStableFunc(list, func(a, b likeness) int { return cmp.Compare(b.ratio, a.ratio) })
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(l likeness) bool {
		value := t.list[l.candidate].value.text
		again := seen[value]
		seen[value] = true
		return again
	})
}

// first finds the first candidates.
func (t *table) first() []int {
	list := make([]int, min(len(t.list), mostListed))
	for i := range list {
		list[i] = i
	}
	return list
}

// pick returns the first of some candidates, as many as are listed, one for each value.
func (t *table) pick(places []int) []candidate {
	var list []candidate
	for _, i := range places[:min(len(places), mostListed)] {
		c := t.list[i]
		if !slices.ContainsFunc(list, func(l candidate) bool { return l.value.text == c.value.text }) {
			list = append(list, c)
		}
	}
	return list
}
