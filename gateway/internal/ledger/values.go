package ledger

import (
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/internal/plaintext"
)

// Bounds of what is read of arguments and results for their values, in bytes: of one text, and
// of all of them.
const (
	maxText = 16 << 10
	maxAll  = 64 << 10
)

// Brings reports for some words and numbers whether they stand in the arguments or the result of
// one of some calls that did not fail. They are compared without regard to case, thousands'
// separators, currencies, and how a time or a decimal fraction is written.
func (l *Ledger) Brings(words []string, of func(*Call) bool) []bool {
	found := make([]bool, len(words))
	sought := make([]uint64, len(words))
	var filter [4]uint64 // most words of a result are none of those
	open := 0
	for i, word := range words {
		sought[i] = hash(word)
		filter[sought[i]>>6&3] |= 1 << (sought[i] & 63)
		open++
	}
	look := func(text string) {
		EachValue(text, func(_ string, hash uint64) bool {
			if filter[hash>>6&3]&(1<<(hash&63)) == 0 {
				return true
			}
			for i := range sought {
				if sought[i] == hash && !found[i] {
					found[i] = true
					open--
				}
			}
			return open > 0
		})
	}
	turn, left := l.Turn(), maxAll
	for i := len(turn) - 1; i >= 0 && left > 0 && open > 0; i-- {
		c := &turn[i]
		if l.Failed(c) || of != nil && !of(c) {
			continue
		}
		result := l.Said(c)
		args := c.Args()
		left -= len(args) + len(result)
		look(plaintext.Ends(string(args), maxText, maxText/2))
		look(plaintext.Ends(result, maxText, maxText/2))
	}
	return found
}

// EachValue calls f for the words and numbers of a text, as they stand and with the hash of the
// form in which they are compared, until it returns false.
func EachValue(text string, f func(word string, hash uint64) bool) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && !wordByte[c] {
			i++
			continue
		}
		start := i
		for i < len(text) && (text[i] >= utf8.RuneSelf || wordByte[text[i]] || joint(text, i)) {
			i++
		}
		word := text[start:i]
		if word[0] >= utf8.RuneSelf || word[len(word)-1] >= utf8.RuneSelf {
			word = strings.Trim(word, "。、，！？…“”„«»")
		}
		if word != "" && !f(word, hash(word)) {
			return
		}
	}
}

// wordByte are the bytes of ASCII that words are made of.
var wordByte = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return t
}()

// joint reports whether a sign within a word belongs to it: a point, a comma or a colon between
// digits, others between letters.
func joint(text string, i int) bool {
	if i == 0 || i+1 >= len(text) {
		return false
	}
	switch text[i] {
	case '.', ',', ':':
		return isDigit(text, i-1) && isDigit(text, i+1)
	case '@', '_', '-':
		return wordByte[text[i+1]&0x7f]
	}
	return false
}

func isDigit(text string, i int) bool { return '0' <= text[i] && text[i] <= '9' }

// hash is that of the form in which a word is compared: "1,250.00", "1.250" and "1250" have one,
// and so have "Boeing" and "boeing", "14:30" and "1430".
func hash(word string) uint64 {
	if digits(word) {
		return numberHash(word)
	}
	h := uint64(hashOffset)
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c >= utf8.RuneSelf { // the rest may have capitals that are no bytes
			for _, b := range []byte(strings.ToLower(word[i:])) {
				h = (h ^ uint64(b)) * hashPrime
			}
			break
		}
		h = (h ^ uint64(c)) * hashPrime
	}
	return h ^ h>>29
}

// FNV-1a.
const hashOffset, hashPrime = 14695981039346656037, 1099511628211

// digits reports whether a word is a number, with signs within or not.
func digits(word string) bool {
	for i := range len(word) {
		if c := word[i]; (c < '0' || c > '9') && (i == 0 || c != '.' && c != ',' && c != ':') {
			return false
		}
	}
	return word != ""
}

// numberHash is that of a number without its leading zeros, its separators, and the zeros that
// end its fraction.
func numberHash(word string) uint64 {
	point := len(word)
	if i := strings.LastIndexAny(word, ".,"); i >= 0 && len(word)-i-1 <= 2 {
		point = i
		for len(word) > point+1 && word[len(word)-1] == '0' {
			word = word[:len(word)-1]
		}
	}
	h := uint64(hashOffset)
	begun := false
	for i := range len(word) {
		c := word[i]
		if i == point {
			if i+1 == len(word) {
				break
			}
		} else if c < '0' || !begun && c == '0' && i+1 < point || c > '9' {
			continue
		}
		begun = true
		h = (h ^ uint64(min(c, '9'))) * hashPrime
	}
	return h ^ h>>29
}
