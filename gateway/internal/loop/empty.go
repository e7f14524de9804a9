package loop

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
)

// holdsNothing reports whether a result of a tool that does not change anything holds nothing of what was
// sought, as a table, XML or a sentence. What may be content is none: a line of commas may be a list of
// values, an empty element may be a word for yes, and "0 errors" is news. The first two forms are told
// by their structure, in whatever language they are.
func holdsNothing(text []byte) bool {
	if len(text) == 0 || len(text) > maxEmpty {
		return false
	}
	return isEmptyTable(text) || isEmptyXML(text) || nothingFound.Match(text)
}

// isEmptyTable reports whether a text is the head of a table without a row, as Markdown and databases write
// it: a line of several names, a line that only rules it off, and behind it at most a count of 0 rows.
func isEmptyTable(text []byte) bool {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if len(lines) > 2 && isRule(lines[0]) { // a frame around the head, as MySQL draws it
		lines = lines[1:]
	}
	if len(lines) < 2 || !strings.Contains(strings.Trim(lines[0], "|"), "|") || !isRule(lines[1]) {
		return false
	}
	for _, line := range lines[2:] {
		if line != "" && !isRule(line) && !noRows.MatchString(line) {
			return false
		}
	}
	return true
}

// noRows is a count of 0 in brackets, with its word in any language, as psql writes it.
var noRows = regexp.MustCompile(`^\(0 \pL+\)$`)

// isRule reports whether a line rules off columns, of which there are several.
func isRule(line string) bool {
	return strings.Contains(line, "--") && strings.ContainsAny(strings.Trim(line, "|+"), "|+") && strings.Trim(line, "-|+: ") == ""
}

// isEmptyXML reports whether a text is XML in which an element is empty that holds a list by its name, or
// counts 0, and besides no other has text or attributes but what tells of the search.
func isEmptyXML(text []byte) bool {
	if text[0] != '<' {
		return false
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	var r xmlReader
	for !r.full {
		token, err := d.Token()
		if err == io.EOF {
			return r.empty && r.roots == 1
		}
		if err != nil {
			return false
		}
		switch t := token.(type) {
		case xml.StartElement:
			r.begin(t)
		case xml.EndElement:
			r.end(t)
		case xml.CharData:
			r.full = len(bytes.TrimSpace(t)) > 0
		case xml.Directive:
			return false
		}
	}
	return false
}

// xmlReader is what was seen of XML.
type xmlReader struct {
	empty bool // an element that may hold a list has nothing in it
	full  bool // there is something that may have been sought
	depth int
	roots int
	begun string // the element that has just begun
}

func (r *xmlReader) begin(t xml.StartElement) {
	if r.depth++; r.depth == 1 {
		r.roots++
	}
	name := strings.ToLower(t.Name.Local)
	zero, full := attributes(t.Attr)
	r.full = full || faults[name] || r.depth > 1 && !holders[name]
	r.empty, r.begun = r.empty || zero, name
}

func (r *xmlReader) end(t xml.EndElement) {
	r.depth--
	name := strings.ToLower(t.Name.Local)
	r.empty = r.empty || name == r.begun && lists[name]
	r.begun = ""
}

// attributes says whether those of an element count 0, and whether one says anything that a search may have found.
func attributes(list []xml.Attr) (zero, full bool) {
	for _, a := range list {
		name := strings.ToLower(a.Name.Local)
		switch {
		case a.Name.Space == "xmlns" || name == "xmlns" || aside[name]:
		case counts[name] && a.Value == "0":
			zero = true
		default:
			full = true
		}
	}
	return zero, full
}

// Elements that are lists, and those that may stand around them.
var (
	lists   = members("results result items entries records rows row hits matches list data feed documents files searchresults resultset resultlist itemlist")
	holders = members("results result items entries records rows hits matches list data feed documents files searchresults resultset resultlist itemlist response answer body")
)

// nothingFound is a sentence that says that a search has found nothing, and no more. Other sentences, and those of other
// languages, are told by toolresult.Missing once they come again.
var nothingFound = regexp.MustCompile(`(?i)^(?:sorry, )?(?:there (?:are|were) )?(?:found )?(?:no|0|zero) (?:matching |relevant |search )?` +
	`(?:results?|match(?:es)?|hits?|records?|rows?|entries|items|documents|files|data)(?: (?:was|were))?(?: (?:found|returned|available|matched))?[.!]?$`)
