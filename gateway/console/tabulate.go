package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/wire"
)

// section is an object of JSON: what it says itself, its lists, and what is below.
type section struct {
	Name   string
	Level  int // of its heading, from 2
	Fields []field
	Tables []table
}

type field struct{ Name, Value string }

// table is a list of objects; a cell is empty where an object has no such member.
type table struct {
	Name    string
	Columns []cell // a number: all cells below are
	Rows    [][]cell
}

type cell struct {
	Text   string
	Number bool
}

// tabulate makes sections of a value's JSON, in the order of its members. It is for values
// of the gateway's own, whose lists are bounded.
func tabulate(v any) ([]section, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the snapshot of the caches is not JSON: %w", err)
	}
	var out []section
	sections(&out, b, "", 2)
	return out, nil
}

// members calls f for the members of an object in their order.
func members(object []byte, f func(name string, value []byte)) {
	wire.Members(object, 0, func(key []byte, v wire.Span) bool {
		f(string(wire.Key(key)), v.Of(object))
		return true
	})
}

// scalar is the cell of a value that is neither an object nor a list.
func scalar(value []byte) cell {
	switch value[0] {
	case 'n':
		return cell{"–", false}
	case 't':
		return cell{"yes", false}
	case 'f':
		return cell{"no", false}
	case '"':
		text := wire.Unquote(value)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			text = at.UTC().Format("2006-01-02 15:04:05") + " UTC"
		}
		return cell{text, false}
	}
	return cell{string(value), true}
}

// sections appends an object and those below it.
func sections(out *[]section, object []byte, name string, level int) {
	s := section{Name: label(name), Level: min(level, 4)}
	var below []func()
	members(object, func(name string, value []byte) {
		switch value[0] {
		case '{':
			below = append(below, func() { sections(out, value, name, level+1) })
		case '[':
			s.Tables = append(s.Tables, tableOf(name, value))
		default:
			s.Fields = append(s.Fields, field{label(name), scalar(value).Text})
		}
	})
	*out = append(*out, s)
	for _, more := range below {
		more()
	}
}

// tableOf makes a table of a list. Objects in its objects become columns of their own.
func tableOf(name string, list []byte) table {
	t := table{Name: label(name)}
	column := map[string]int{}
	wire.Elements(list, 0, func(_ int, item wire.Span) bool {
		row := make([]cell, len(t.Columns))
		cells(item.Of(list), "", func(name string, c cell) {
			i, ok := column[name]
			if !ok {
				i = len(t.Columns)
				column[name] = i
				t.Columns, row = append(t.Columns, cell{label(name), true}), append(row, cell{})
			}
			t.Columns[i].Number = t.Columns[i].Number && c.Number
			row[i] = c
		})
		t.Rows = append(t.Rows, row)
		return true
	})
	for i := range t.Rows {
		for len(t.Rows[i]) < len(t.Columns) {
			t.Rows[i] = append(t.Rows[i], cell{})
		}
	}
	return t
}

func cells(value []byte, name string, give func(string, cell)) {
	switch value[0] {
	case '{':
		members(value, func(member string, value []byte) { cells(value, strings.TrimSpace(name+" "+member), give) })
	case '[':
		n := 0
		wire.Elements(value, 0, func(int, wire.Span) bool { n++; return true })
		give(name, cell{fmt.Sprintf("%d entries", n), false})
	default:
		give(name, scalar(value))
	}
}

// labels are members' names where those of the JSON say too little to people.
var labels = map[string]string{ //nolint:gosec // a table of words
	"accounts": "Tokens and money", "caches": "Seems to cache", "choices": "Times chosen", "cost": "Cost of prompts", "entries": "Blocks remembered",
	"evicted_blocks": "Blocks that made room", "expected_blocks": "Cached blocks expected", "expected_tokens": "Cached tokens expected",
	"failed": "Failed", "faulty": "With impossible token counts", "foreign": "Of gateways with another salt", "hit_share": "Share of the prompt from caches",
	"hits": "Chosen for its cache", "lag_seconds": "Delay in seconds", "last_pull": "Last read", "last_push": "Last written", "limit": "Blocks at most",
	"list": "Cost of prompts without a cache", "lost_marks": "News that other gateways missed", "missed_tokens": "Expected tokens that were not cached",
	"other_rows": "Rows that made room", "output": "Cost of answers", "prices_date": "Prices of", "pulled_batches": "Read from other gateways",
	"pushed_batches": "Written for other gateways", "rated_tokens": "Tokens with a known price of caching", "reported_blocks": "Cached blocks reported",
	"saved": "Saved by caches", "saved_share": "Share of the price saved", "sharing": "Shared with other gateways", "tenant": "Key",
	"unknown_deltas": "News about targets that are not here", "unreported": "Answers without a token count", "version": "Of another version",
}

// label is a member's name for people.
func label(name string) string {
	if known, ok := labels[name]; ok {
		return known
	}
	if object, member, ok := strings.Cut(name, " "); ok { // of an object in a row
		return label(object) + ": " + label(member)
	}
	name = strings.ReplaceAll(name, "_", " ")
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
