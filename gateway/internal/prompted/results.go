package prompted

import (
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// result is what a tool answered.
type result struct {
	name string // of what was called; "" if nobody says
	id   string
	text string
}

// frame is how a form writes the results of a round.
type frame struct {
	open, between, close string
	write                func(dst []byte, n int, r result) []byte
}

func (f *frame) append(dst []byte, results []result) []byte {
	dst = append(dst, f.open...)
	for n, r := range results {
		if n > 0 {
			dst = append(dst, f.between...)
		}
		dst = f.write(dst, n, r)
	}
	return append(dst, f.close...)
}

// between writes the text of a result between markers.
func between(before, after string) func(dst []byte, n int, r result) []byte {
	return func(dst []byte, _ int, r result) []byte {
		return append(append(append(dst, before...), r.text...), after...)
	}
}

// introduced is the frame for templates that write a bare result into a message of a
// role for results. A message of the user has to say what it is: the words are ours.
var introduced = frame{between: paragraph, write: func(dst []byte, _ int, r result) []byte {
	dst = append(dst, "Result"...)
	if r.name != "" {
		dst = append(append(dst, " of "...), r.name...)
	}
	return append(append(dst, ":\n"...), r.text...)
}}

// round writes the results from a message on as one message of the user, in the order of
// their calls, and returns the message behind them.
func (w *writer) round(from int) (next int) {
	order := w.order[:0]
	for next = from; next < len(w.results) && w.results[next] != 0; next++ {
		order = append(order, next)
	}
	slices.SortStableFunc(order, func(a, b int) int { // a result without a call is behind all that have one
		return cmp.Compare(uint(w.results[a]), uint(w.results[b]))
	})
	list := w.list[:0]
	var others [][]byte
	for _, i := range order {
		r, parts := w.result(i)
		list = append(list, r)
		others = append(others, parts...)
	}
	text := w.form.results.append(w.text[:0], list)
	w.order, w.list, w.text = order, list, text
	if next == len(w.results) {
		text = append(text, w.lastly()...)
	}
	w.out = append(w.out, `{"role":"user","content":`...)
	w.appendContent(text, others)
	w.appendExtra(from, next)
	w.out = append(w.out, '}')
	return next
}

func (w *writer) result(i int) (r result, others [][]byte) {
	m := &w.c.Messages[i]
	r.text, others = w.said(m.Content)
	if n := w.results[i]; n != noCall {
		r.name, r.id = w.calls[n-1].name, w.calls[n-1].id
		return r, others
	}
	r.name = w.member(m, "name")
	id, _ := conversation.Decode(w.c.Text, m.CallID)
	r.id = string(id)
	return r, others
}

// appendExtra appends the members of results that are not about their being results. Of
// those with one key the last one counts, as it does for a mark behind which an upstream
// need not read.
func (w *writer) appendExtra(from, next int) {
	type extra struct {
		key   []byte
		value wire.Span
	}
	var list []extra
	places := map[string]int{}
	for i := from; i < next; i++ {
		m := &w.c.Messages[i]
		wire.Members(w.c.Text[:m.At.End], m.At.Start, func(key []byte, v wire.Span) bool {
			switch plain := wire.Key(key); string(plain) {
			case "role", "content", "tool_call_id", "name":
			default:
				place, known := places[string(plain)]
				if !known {
					place = len(list)
					places[string(plain)] = place
					list = append(list, extra{key: key})
				}
				list[place].value = v
			}
			return true
		})
	}
	for _, e := range list {
		w.out = appendMember(w.out, e.key, e.value.Of(w.c.Text))
	}
}
