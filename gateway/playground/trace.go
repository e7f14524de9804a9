package playground

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/chain"
)

// done completes the notes with what did not happen: the parsers that were not asked.
func (r *recorder) done(candidates []chain.Candidate, taken []string) Trace {
	for _, p := range r.trace.Places {
		p.note(candidates, r.input.text, taken)
	}
	for _, c := range candidates {
		at := first(r.input.text, c.Triggers)
		switch t := r.totals[c.Parser]; {
		case t != nil:
			t.At = at
		case at >= 0:
			r.total(c.Parser).At = at
		default:
			r.trace.Silent = append(r.trace.Silent, c.Name)
		}
	}
	for _, t := range r.totals {
		r.trace.Parsers = append(r.trace.Parsers, *t)
	}
	slices.SortFunc(r.trace.Parsers, func(a, b Parser) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(r.trace.Silent)
	return r.trace
}

// note adds to a place what stands there, who was not asked, who could not tell, and whose calls the chain did
// not believe.
func (p *Place) note(candidates []chain.Candidate, text string, taken []string) {
	p.Head = strings.ToValidUTF8(text[p.Offset:min(len(text), p.Offset+maxHead)], "")
	for _, c := range candidates {
		asked := p.of(c.Parser) != nil
		if !asked && slices.ContainsFunc(c.Triggers, func(t string) bool { return strings.HasPrefix(text[p.Offset:], t) }) {
			p.Passed = append(p.Passed, c.Name)
		}
	}
	for _, q := range p.Questions {
		if q.Verdict == "maybe" && q.Outcome == "" {
			q.Outcome = "the text ended before it could tell"
		}
		if q.calls > 0 && !slices.Contains(taken, q.Parser) {
			q.Problems = append(q.Problems, "what it read was not taken for a call")
		}
	}
}

// first is where one of the literals stands first, or -1.
func first(text string, literals []string) int {
	at := -1
	for _, l := range literals {
		if l == "" {
			continue
		}
		if i := strings.Index(text, l); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	return at
}

// CallsJSON is the calls as an app gets them, indented.
func (r *Result) CallsJSON() string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(r.Calls) // strings cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

func list(words []string) string { return strings.Join(words, ", ") }
