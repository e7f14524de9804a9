package main

import (
	"bytes"
	"encoding/json"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// pairs reads <NAME>KEY=VALUE,KEY=VALUE; as a call of get_weather. What is set breaks a rule.
type pairs struct {
	open string
	pos  int
	held []byte

	doubles  bool // takes a key that is there twice
	raw      bool // takes what looks like a number for one
	quotes   bool // escapes nothing
	swallows bool // takes what follows up to the end of the line for the call's
	invents  bool // calls another tool
	cuts     bool // says that a call was cut off, whatever the reason
	hurries  bool // takes a call for complete that is not
	echoes   bool // says text, and gives it back too
	adds     bool // says text of its own
	shares   bool // keeps what it reads in one place for all regions
	sticks   bool // remembers that there was a region before
	crowds   bool // looks at the first 100 tools only
	options  sdk.Options
}

var (
	shared []byte
	stuck  int
)

func registerPairs() {
	for name, p := range map[string]pairs{
		"plain": {}, "doubles": {doubles: true}, "raw": {raw: true}, "quotes": {quotes: true}, "swallows": {swallows: true}, "invents": {invents: true}, "cuts": {cuts: true},
		"hurries": {hurries: true}, "echoes": {echoes: true}, "adds": {adds: true}, "shares": {shares: true}, "sticks": {sticks: true}, "crowds": {crowds: true},
	} {
		p.open = "<" + name + ">"
		sdk.Register(sdk.Spec{
			Parser: abi.Parser{Name: name, Priority: 50, Triggers: []string{p.open}, Example: p.open + "city=Oslo,days=3;"},
			New:    func(o sdk.Options) (sdk.Parser, error) { q := p; q.options = o; return &q, nil },
		})
	}
}

// Feed implements sdk.Parser.
func (p *pairs) Feed(text []byte, out *sdk.Out) {
	for _, c := range text {
		held := &p.held
		if p.shares {
			if held = &shared; p.pos == 0 {
				shared = shared[:0]
			}
		}
		*held = append(*held, c)
		p.pos++
		if n := min(p.pos, len(p.open)); !bytes.HasPrefix(*held, []byte(p.open[:n])) || p.pos > 1<<10 {
			out.Malformed(0, p.pos)
			return
		}
		if c == ';' && !p.swallows || c == '\n' && p.swallows {
			p.call(*held, out, p.pos)
			return
		}
	}
}

// call reads what was held, up to its end.
func (p *pairs) call(held []byte, out *sdk.Out, end int) {
	body := held[min(len(held), len(p.open)):]
	if p.swallows {
		body, _, _ = bytes.Cut(body, []byte(";"))
	}
	args := []byte("{")
	seen := map[string]bool{}
	for pair := range bytes.SplitSeq(bytes.TrimSuffix(body, []byte(";")), []byte(",")) {
		key, value, ok := bytes.Cut(pair, []byte("="))
		if !ok || !p.doubles && seen[string(key)] {
			out.Malformed(0, end)
			return
		}
		if len(seen) > 0 {
			args = append(args, ',')
		}
		seen[string(key)] = true
		quoted, _ := json.Marshal(string(key)) // a string can be
		args = append(append(append(args, quoted...), ':'), p.value(value)...)
	}
	if p.echoes {
		out.Content(held)
		out.Malformed(0, end)
		return
	}
	if p.adds {
		out.Content([]byte("Here you are: "))
	}
	name := "get_weather"
	if p.invents {
		name = "zzz"
	}
	if stuck++; p.sticks && stuck%2 == 0 {
		args = append(args, `,"again":true`...)
	}
	out.CallStart(name, "")
	out.Args(append(args, '}'))
	out.CallEnd()
	out.End(end)
}

func (p *pairs) value(text []byte) []byte {
	switch {
	case p.crowds && len(p.options.Tools) > 100:
		return []byte("null")
	case p.raw && len(text) > 0 && (text[0] >= '0' && text[0] <= '9' || text[0] == '-'):
		return text
	case p.quotes:
		return append(append([]byte{'"'}, text...), '"')
	}
	quoted, _ := json.Marshal(string(text)) // a string can be
	return quoted
}

// Finish implements sdk.Parser.
func (p *pairs) Finish(_ sdk.Reason, out *sdk.Out) {
	switch {
	case p.hurries && bytes.IndexByte(p.held, '=') > 0, p.swallows && bytes.IndexByte(p.held, ';') > 0:
		p.call(p.held, out, p.pos)
	case p.cuts && p.pos > len(p.open):
		out.CallStart("get_weather", "")
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(0, p.pos)
	}
}
