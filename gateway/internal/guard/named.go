package guard

import (
	"bytes"
	"sort"
	"strings"
	"unicode/utf8"
)

// name is a thing that an answer calls by its name: an address, a file, a quotation.
type name struct {
	text string
	kind byte // '@', fileName or quoted
	// start and end are its place in the plain text.
	start, end int
}

const (
	// shortName is the length in bytes from which a name is a name of one thing only.
	shortName = 4
	// maxNames bounds the names of a claim, and maxListed the items of a list behind it.
	maxNames  = 16
	maxListed = 8
)

// listed returns the names of one kind that a sentence lists side by side, or that the
// lines behind it begin with if it ends in a colon.
func listed(r *reading, sentence int) []name {
	s := &r.sentences[sentence]
	if s.closed == ':' {
		return listedBelow(r, sentence)
	}
	var row []name
	for _, n := range names(r, s.start, s.end) {
		if last := len(row) - 1; last >= 0 && (row[last].kind != n.kind || !isListed(r, row[last].end, n.start)) {
			if len(row) > 1 {
				return row
			}
			row = row[:0]
		}
		row = append(row, n)
	}
	return row
}

// listedBelow returns the quotations that the lines behind a sentence begin with.
func listedBelow(r *reading, sentence int) (list []name) {
	rest := r.sentences[sentence+1:]
	for i := range rest[:min(len(rest), 3*maxListed)] {
		s := &rest[i]
		if s.start == 0 || r.text[s.start-1] != '\n' || r.text[s.start] != quoted {
			continue
		}
		if found := names(r, s.start, s.start+1); len(found) > 0 && len(list) < maxListed {
			list = append(list, found[0])
		}
	}
	return list
}

// names returns the names in a part of the text.
func names(r *reading, start, end int) (list []name) {
	quote := countQuotes(r.text[:start])
	marks := r.marks[sort.Search(len(r.marks), func(i int) bool { return r.marks[i].start >= start }):]
	for i := start; i < end && len(list) < maxNames; i++ {
		switch c := r.text[i]; c {
		case quoted, fileName:
			if quote < len(r.quotes) && len(r.quotes[quote]) >= shortName {
				list = append(list, name{r.quotes[quote], c, i, i + 1})
			}
			quote++
			continue
		}
		for len(marks) > 0 && marks[0].start < i {
			marks = marks[1:]
		}
		if len(marks) == 0 || marks[0].start != i || !marks[0].named {
			continue
		}
		m := &marks[0]
		text := string(r.text[m.start:m.end])
		kind := byte(fileName)
		if strings.IndexByte(text, '@') > 0 {
			kind = '@'
		}
		if len(text) >= shortName && utf8.ValidString(text) {
			list = append(list, name{text, kind, m.start, m.end})
		}
		i = m.end - 1
	}
	return list
}

func countQuotes(text []byte) int {
	return bytes.Count(text, []byte{quoted}) + bytes.Count(text, []byte{fileName})
}

// isListed reports whether nothing but a comma or a word such as "and" is between two
// places.
func isListed(r *reading, from, to int) bool {
	between := bytes.Trim(r.text[from:to], " ,'")
	if len(between) == 0 {
		return true
	}
	i := sort.Search(len(r.marks), func(i int) bool { return r.marks[i].start >= from })
	if i == len(r.marks) {
		return false
	}
	m := &r.marks[i]
	return m.end <= to && m.is(and) && bytes.Equal(r.text[m.start:m.end], between)
}
