package guard

import (
	"bytes"
	"unicode/utf8"
)

// hits are all that were found, and the words that are in no lexicon: those of this
// request's tools, and names of files.
type hits struct {
	list []hit
	own  []meaning
}

func (h *hits) add(start, end int, m meaning) {
	h.list = append(h.list, hit{int32(start), int32(end), int32(^len(h.own))})
	h.own = append(h.own, m)
}

// newHits returns room for what is found in a text of n bytes.
func (l *lexicons) newHits(n int) *hits {
	if h, ok := l.spare.Get().(*hits); ok {
		return h
	}
	return &hits{list: make([]hit, 0, n/3+8)}
}

// maxSpare is how many hits a list has at most that is kept for the next text.
const maxSpare = 4 << 10

// done gives back what newHits returned. The words of their own stay, which marks point
// to.
func (l *lexicons) done(h *hits) {
	if cap(h.list) <= maxSpare {
		h.list, h.own = h.list[:0], nil
		l.spare.Put(h)
	}
}

// free gives back what was read of a text, which nobody looks at any more.
func (l *lexicons) free(r *reading) {
	if cap(r.marks) > maxSpare || cap(r.text) > maxSpare {
		return
	}
	clear(r.marks) // they point to words of the request's tools
	clear(r.quotes)
	*r = reading{plain: plain{text: r.text[:0], quotes: r.quotes[:0]}, marks: r.marks[:0], both: r.both[:0], sentences: r.sentences[:0]}
	l.readings.Put(r)
}

// newReading returns room for what is read of a text.
func (l *lexicons) newReading() *reading {
	if r, ok := l.readings.Get().(*reading); ok {
		return r
	}
	return &reading{}
}

// maxLanguages is how many bits spoken has.
const maxLanguages = 32

// spoken is what of a pattern tells the language of a text.
type spoken struct {
	languages uint32 // those that have a meaning for it, as bits
	only      int8   // the one, or -1 if there are several
	common    int8   // commonScore if it is one of the one's small words
}

// speak notes of every pattern which languages have it.
func (l *lexicons) speak() {
	l.spoken, l.spokenBy = make([]spoken, len(l.lists)), make([][]spoken, len(l.lists))
	for pattern, list := range l.lists {
		each := make([]spoken, len(list))
		all := spoken{only: -1}
		for i := range list {
			each[i] = spoken{1 << list[i].language, int8(list[i].language), int8(commonScore * count(list[i].is(common)))}
			all.languages |= each[i].languages
		}
		if len(each) == 1 {
			all = each[0]
		}
		l.spoken[pattern], l.spokenBy[pattern] = all, each
	}
}

// scan finds the patterns of all languages.
func (l *lexicons) scan(text []byte, local *localWords) *hits {
	h := l.newHits(len(text))
	inWord := false
	for i := 0; i < len(text) && len(h.list) < maxHits; {
		if c := text[i]; c < utf8.RuneSelf {
			switch {
			case c == fileName:
				h.add(i, i+1, meaning{roles: object, deed: deed{things: fileThing}})
				inWord = false
			case !wordBytes[c]:
				inWord = false
			case !inWord:
				i, inWord = l.asciiWord(h, text, i, local)
				continue
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		word := isWord(r)
		if word && (!inWord || isUnspaced(r)) {
			if end := nameEnd(text, i); end > 0 {
				h.add(i, end, nameMeaning(text[i:end]))
				i, inWord = end, false
				continue
			}
			l.word(h, text, i, i, local)
		}
		// In Arabic, "and" is written together with the word behind it.
		inWord = word && !isUnspaced(r) && (r != 'و' || inWord)
		i += size
	}
	return h
}

// asciiWord takes a word that begins with a byte of ASCII, and returns where to go on,
// and whether that is inside of the word.
func (l *lexicons) asciiWord(h *hits, text []byte, i int, local *localWords) (next int, inWord bool) {
	next = i + 1
	for next < len(text) && text[next] < utf8.RuneSelf && wordBytes[text[next]] {
		next++
	}
	if next < len(text) && nameBytes[text[next]] != 0 {
		if end := nameEnd(text, i); end > 0 {
			h.add(i, end, nameMeaning(text[i:end]))
			return end, false
		}
	}
	end := next
	if next < len(text) && text[next] >= utf8.RuneSelf {
		end = i
	}
	l.word(h, text, i, end, local)
	return next, true
}

// word finds the patterns that begin at a place; end is as match has it.
func (l *lexicons) word(h *hits, text []byte, i, end int, local *localWords) {
	if local.mayBegin(text[i]) {
		wordEnds := min(end, i+maxWord)
		if end == i { // not known
			wordEnds = wordEnd(text, i)
		}
		if word := text[i:wordEnds]; len(word) > 0 && local.mayBe(word) {
			if m, ok := local.words[string(word)]; ok {
				h.add(i, i+len(word), m)
			}
		}
	}
	h.list = l.words.match(h.list, text, i, end)
}

// score counts how much of a text the patterns of each language are.
func (l *lexicons) score(found []hit, scores []int) {
	for _, f := range found {
		if f.pattern < 0 {
			continue
		}
		size := int(f.end - f.start)
		if s := &l.spoken[f.pattern]; s.only >= 0 {
			scores[s.only] += size + int(s.common)
			continue
		}
		for _, s := range l.spokenBy[f.pattern] {
			scores[s.only] += size + int(s.common)
		}
	}
}

// localWords are the words in the names of this request's tools and their forms.
type localWords struct {
	words  map[string]meaning
	starts [bytesOfNode / 64]uint64 // their first bytes, as bits
	shapes [shapesOfWords / 64]uint64
}

// shapesOfWords is how many a word may have: they tell most words from those of the tools without
// a look into the map.
const shapesOfWords = 512

// shape is that of a word that is not empty, by its length, its middle and its end.
func shape(word []byte) uint {
	return (uint(len(word)) ^ uint(word[len(word)/2])<<4 ^ uint(word[len(word)-1])*3) % shapesOfWords
}

// mayBegin reports whether one of them may begin with a byte. Most words are none.
func (w *localWords) mayBegin(first byte) bool {
	return w != nil && w.starts[first/64]&(1<<(first%64)) != 0
}

// mayBe reports whether a word may be one of them.
func (w *localWords) mayBe(word []byte) bool {
	s := shape(word)
	return w.shapes[s/64]&(1<<(s%64)) != 0
}

func (w *localWords) add(word string, m meaning) {
	if word != "" {
		w.words[word] = m
		w.starts[word[0]/64] |= 1 << (word[0] % 64)
		s := shape([]byte(word))
		w.shapes[s/64] |= 1 << (s % 64)
	}
}

// nameEnd returns the end of a file's name, an address or a link that begins at a place,
// or 0. Words in them mean nothing.
func nameEnd(text []byte, i int) int {
	limit := min(len(text), i+maxFileName)
	end, special := i, limit
	for end < limit && nameBytes[text[end]] != 0 {
		if nameBytes[text[end]] == 2 {
			special = min(special, end)
		}
		end++
	}
	for end > i && (text[end-1] == '.' || text[end-1] == '!' || text[end-1] == '?' || text[end-1] == ':') {
		end--
	}
	if special >= end { // a sentence ends
		return 0
	}
	name := text[i:end]
	if at := bytes.IndexByte(name, '@'); at > 0 && at < len(name)-1 || bytes.Contains(name, []byte("://")) || isFileName(string(name)) {
		return end
	}
	return 0
}

// nameBytes are the bytes of such names, 1, and those that other words have not, 2.
var nameBytes = func() (t [256]byte) {
	for c := '!'; c < utf8.RuneSelf; c++ {
		switch c {
		case ',', ')', ';':
		case '.', '/', '@':
			t[c] = 2
		default:
			t[c] = 1
		}
	}
	return t
}()

func nameMeaning(name []byte) meaning {
	if isFileName(string(name)) {
		return meaning{roles: object, deed: deed{things: fileThing}, named: true}
	}
	return meaning{named: true}
}
