package loop

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/toolresult"
	"github.com/callgate/callgate/gateway/wire"
)

const (
	// maxShort is the most bytes of an acknowledgement. The longest that is in wide use,
	// of Claude Code's list of things to do, has 160.
	maxShort = 256
	// maxWord is the most bytes of a state that many things may have, such as "running".
	maxWord = 64
	// maxEmpty is the most bytes of a result that is looked through for something in it.
	maxEmpty = 1 << 10
	// maxEchoed is the most bytes of a result in which arguments are sought, and
	// maxEchoes how many of them are.
	maxEchoed = 1 << 10
	maxEchoes = 16
	// maxArguments is the most bytes of arguments that are taken apart for it.
	maxArguments = 64 << 10
)

// resultText is what a tool answered: a text, the text parts of a list if there are
// no others, or else the JSON as it stands, such as a list with a picture.
func resultText(c *conversation.Conversation, m conversation.Message) []byte {
	if s, ok := conversation.Decode(c.Text, m.Content); ok {
		return s
	}
	isText := c.Text[m.Content.Start] == '['
	c.Parts(m.Content, func(_ wire.Span, _ []byte, text wire.Span) bool {
		isText = !text.Empty()
		return isText
	})
	if isText {
		return []byte(c.Said(m))
	}
	return m.Content.Of(c.Text)
}

// substance is what a result holds.
type substance uint8

const (
	something substance = iota
	nothing             // no text, no value or an object without members
	emptyList           // a list was asked for, and nothing is in it
)

// substanceOf looks for the results that hold nothing, as JSON, Python, Go and
// JavaScript write them.
func substanceOf(text []byte) substance {
	const longest = 16 // with white space between brackets
	if len(text) > longest {
		return something
	}
	switch strings.Join(strings.Fields(string(text)), "") {
	case "", `""`, "''", "null", "{}", "None", "nil", "<nil>", "undefined":
		return nothing
	case "[]":
		return emptyList
	}
	return something
}

// withoutEchoes returns a result as it is compared, and whether it says that something
// failed. From a failure the arguments of its call are cut: "not found: a.txt" and
// "not found: b.txt" say the same of what was asked, and white space says nothing. It
// is a failure only if that does not depend on what is cut, as it does in "Status set
// to rejected".
func withoutEchoes(text []byte, c *conversation.Call) (compared []byte, failed bool) {
	if len(text) > maxEchoed || !toolresult.Failed(text, toolresult.Missing) {
		return text, false
	}
	cut := text
	for _, echo := range echoes(c.Args(), len(text)) {
		if bytes.Contains(cut, echo) {
			cut = bytes.ReplaceAll(cut, echo, []byte{0})
		}
	}
	if len(cut) < len(text) && !toolresult.Failed(cut, toolresult.Missing) {
		return text, false
	}
	return bytes.Join(bytes.Fields(cut), []byte{' '}), true
}

// echoes returns what a result of some length may repeat of the arguments of its call:
// the members of the object, the longest first, as one may be a part of another.
func echoes(arguments []byte, longest int) (values [][]byte) {
	if len(arguments) > maxArguments {
		return nil
	}
	text := bytes.TrimSpace(arguments)
	conversation.Members(text, wire.Span{End: len(text)}, func(_ []byte, at wire.Span) bool {
		value := at.Of(text)
		if s, ok := conversation.Decode(text, at); ok {
			value = bytes.TrimSpace(s)
		}
		if len(value) > 0 && len(value) <= longest {
			values = append(values, value)
		}
		return true
	})
	slices.SortFunc(values, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b))
	})
	return values[:min(len(values), maxEchoes)]
}

// findsNothing reports whether a result in JSON holds what was sought in no member: a list with
// nothing in it or a count of 0, and besides only what tells of the search itself.
func findsNothing(text []byte) bool {
	if len(text) > maxEmpty || len(text) == 0 || text[0] != '{' {
		return false
	}
	object, ok := wire.Value(text, 0)
	if !ok || object.End != len(text) {
		return false
	}
	empty, full := emptiness(text, object, 0)
	return empty && !full
}

// emptiness says whether an object has an empty list or a count of 0, and whether it has anything
// that a search may have found.
func emptiness(text []byte, object wire.Span, depth int) (empty, full bool) {
	conversation.Members(text, object, func(key []byte, v wire.Span) bool {
		name, raw := strings.ToLower(string(key)), v.Of(text)
		switch {
		case faults[name]: // that there are none is good news
			full = true
		case frames[name] && raw[0] == '{':
		case raw[0] == '[':
			if len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0 {
				empty = true
			} else {
				full = true
			}
		case raw[0] == '{' && depth < 2:
			if len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0 {
				inner, more := emptiness(text, v, depth+1)
				empty, full = empty || inner, full || more
			}
		case string(raw) == "0" && counts[name], string(raw) == "false" && name == "found":
			empty = true
		case string(raw) == "null", string(raw) == `""`, aside[name], string(raw) == "false", string(raw) == "0":
		default:
			full = true
		}
		return !full
	})
	return empty, full
}

// Members of a result: how many were found, what tells of the search, by a word or in an object of its
// own, and what had better be empty.
var (
	counts = members("count total totalcount total_count size length hits matches found numfound num_results results_count resultcount rowcount row_count")
	aside  = members(`query q search filter filters page pages limit offset per_page perpage pagesize page_size cursor next nextpage
		next_page has_more hasmore took took_ms duration status success ok message error sort order lang locale request_id timestamp
		object kind etag url self relation elapsed elapsed_ms time_ms execution_time latency_ms`)
	frames = members("meta metadata pagination paging page_info pageinfo links _links _shards")
	faults = members("errors warnings failures failed issues problems violations conflicts diagnostics missing unmatched")
)

func members(text string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		m[name] = true
	}
	return m
}
