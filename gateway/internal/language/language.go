package language

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxText is how many bytes of a message are looked at, its last ones: that is where the
// question stands, behind what it is about.
const MaxText = 1 << 10

// compared are the languages that share a script, in groups by script.
var compared = []struct {
	script script
	codes  []string
}{
	{latin, []string{
		"ca", "cs", "da", "de", "en", "es", "et", "fi", "fr", "hr", "hu", "id", "it", "lt", "lv", "ms", "nl", "no",
		"pl", "pt", "ro", "sk", "sl", "sv", "tl", "tr", "vi",
	}},
	{cyrillic, []string{"be", "bg", "ru", "sr", "uk"}},
	{arabic, []string{"ar", "fa", "ur"}},
	{devanagari, []string{"hi", "mr"}},
}

// languages is how many they are.
const languages = 27 + 5 + 3 + 2

// Codes returns the languages that a Detector can tell, as ISO 639-1 writes them, sorted.
// A configuration may ask for no other.
func Codes() []string {
	var codes []string
	for _, group := range compared {
		codes = append(codes, group.codes...)
	}
	for _, s := range alone {
		codes = append(codes, s.code)
	}
	return slices.Compact(slices.Sorted(slices.Values(codes))) // Japanese has two scripts
}

// Base returns the language of a tag such as "pt-BR" or "zh_TW": the part before its
// region, in lower case.
func Base(tag string) string {
	if i := strings.IndexAny(tag, "-_"); i >= 0 {
		tag = tag[:i]
	}
	return strings.ToLower(tag)
}

// grams.txt.gz has a line for each gram, one to three letters: the gram, and the languages
// that have it with their scores. A score is how rare its last letter is behind the others,
// in eighths of the natural logarithm.
//
//go:embed grams.txt.gz
var gramsFile []byte

// words.txt has a line for each of some languages: the language, and common words of it.
//
//go:embed words.txt
var wordsFile string

// gram is one to three letters, packed.
type gram uint64

func (g gram) with(r rune) gram { return (g<<21 | gram(r)) & (1<<63 - 1) }

// row is the score of a gram in each of the languages compared; 0 is not known.
type row [languages]uint8

// Detector tells in which language a message is written. It holds some 8 MB and is safe
// for concurrent use.
type Detector struct {
	rows   map[gram]row
	common map[string][]int // which of the languages have a word
	groups map[script]group
	codes  map[string]bool
}

// group is a script's place among the languages compared.
type group struct {
	from  int
	codes []string
}

// New makes a Detector, which takes some 40 ms. The gateway makes one if a route asks for
// languages.
func New() (*Detector, error) {
	d := &Detector{rows: map[gram]row{}, groups: map[script]group{}, codes: map[string]bool{}}
	for _, code := range Codes() {
		d.codes[code] = true
	}
	column := map[string]int{}
	for _, g := range compared {
		d.groups[g.script] = group{len(column), g.codes}
		for _, code := range g.codes {
			column[code] = len(column)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(gramsFile))
	if err != nil {
		return nil, fmt.Errorf("language: %w", err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("language: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		letters, scores, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var r row
		for field := range strings.SplitSeq(scores, " ") {
			i, known := column[field[:2]]
			score, err := strconv.ParseUint(field[2:], 10, 8)
			if err != nil || !known {
				return nil, fmt.Errorf("language: grams.txt.gz has a bad line %q", line)
			}
			r[i] = uint8(score)
		}
		g := gram(0)
		for _, letter := range letters {
			g = g.with(letter)
		}
		d.rows[g] = r
	}
	d.common = map[string][]int{}
	for line := range strings.Lines(wordsFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		i, known := column[fields[0]]
		if !known {
			return nil, fmt.Errorf("language: words.txt has a bad line %q", line)
		}
		for _, word := range fields[1:] {
			d.common[word] = append(d.common[word], i)
		}
	}
	return d, nil
}

// Knows reports whether a code is one of Codes.
func (d *Detector) Knows(code string) bool { return d.codes[code] }

// Detect returns the language of a message, or "" if that is in doubt. Blocks of code
// between fences are passed over, and so are words with signs of code in them.
func (d *Detector) Detect(message string) string {
	text := tail(message)
	s := dominant(text)
	if code := s.language(); code != "" {
		return code
	}
	g, ok := d.groups[s]
	if !ok {
		return ""
	}
	c := comparison{d: d, group: g}
	for word := range words(text) {
		c.add(word)
	}
	return c.verdict()
}

// What makes a verdict: in how many letters, and how far ahead of the next language, in
// eighths of the natural logarithm. Eight letters are two short words. The lead is a factor
// of 7; between languages that are nearly one it is a factor of 4, as long as a third one
// is far behind.
const (
	minLetters = 8
	minLead    = 16
	minTwins   = 12
)

// ofWord is what a common word of a language is worth, beside its letters: a factor of 4.
const ofWord = 12

// What a language is charged for a letter that it does not have behind the one or two
// before, or not at all.
const (
	shorter = 7  // a factor of 0.4, for each letter less
	unknown = 74 // a chance of 1 in 10,000
)

// comparison adds up how unlikely the letters of a message are in each language.
type comparison struct {
	d       *Detector
	group   group
	letters int
	cost    [languages]int
}

func (c *comparison) add(word string) {
	for _, i := range c.d.common[word] {
		c.cost[i] -= ofWord
	}
	var one, two, three gram // that end with the letter
	for _, r := range word {
		three, two, one = two.with(r), one.with(r), gram(0).with(r)
		if c.letters++; three == two {
			three = 0
		}
		rows := [3]row{c.d.rows[three], c.d.rows[two], c.d.rows[one]}
		for i := c.group.from; i < c.group.from+len(c.group.codes); i++ {
			switch {
			case rows[0][i] > 0:
				c.cost[i] += int(rows[0][i])
			case rows[1][i] > 0:
				c.cost[i] += int(rows[1][i]) + shorter
			case rows[2][i] > 0:
				c.cost[i] += int(rows[2][i]) + 2*shorter
			default:
				c.cost[i] += unknown + 3*shorter
			}
		}
	}
}

// verdict is the language in which the letters are least unlikely.
func (c *comparison) verdict() string {
	if c.letters < minLetters {
		return ""
	}
	order := make([]int, len(c.group.codes))
	for i := range order {
		order[i] = i
	}
	cost := func(i int) int { return c.cost[c.group.from+order[i]] }
	slices.SortStableFunc(order, func(x, y int) int { return c.cost[c.group.from+x] - c.cost[c.group.from+y] })
	best, next := c.group.codes[order[0]], c.group.codes[order[1]]
	lead := cost(1) - cost(0)
	twins := best == "id" && next == "ms" || best == "ms" && next == "id" // they differ in few words
	if lead >= minLead || twins && lead >= minTwins && len(order) > 2 && cost(2)-cost(0) >= minLead {
		return best
	}
	return ""
}

// fence begins and ends a block of code.
const fence = "```"

// tail is the end of what a message says outside of blocks of code. A block without an end
// goes on to the end of the message.
func tail(message string) string {
	var b []byte
	for code := false; message != ""; code = !code {
		piece, rest, _ := strings.Cut(message, fence)
		message = rest
		if code {
			continue
		}
		b = append(append(b, ' '), cut(piece)...)
		if len(b) > 2*MaxText {
			b = b[:copy(b, b[len(b)-MaxText:])]
		}
	}
	return cut(string(b))
}

// cut is the end of a text, from the beginning of a letter on.
func cut(text string) string {
	if len(text) <= MaxText {
		return text
	}
	text = text[len(text)-MaxText:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
