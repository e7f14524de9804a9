// Package observe says what was done for a request. One table names what there is to say and
// where: in response headers, in comments of a stream, in the log, in traces, in metrics and
// in the body of the answer. Who adds a fact adds a line to it.
package observe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// fact is something that there is to say of a request: its names in each place, "" where it
// is not said, and its value, nil or "" if there is nothing to say.
type fact struct {
	header  string // in the form that http.CanonicalHeaderKey gives it
	start   bool   // it is known before the first byte of a stream
	late    string // in the comment in place of headers, where a heartbeat has sent those
	end     string // in the comment that ends a stream
	log     string
	trace   string
	member  string // of the object "execution" in an answer's body
	streams bool   // that member is there in a stream alone
	empty   bool   // it is said even if it is ""
	value   func(s *gateway.Summary) any
	counts  []Measure
}

// place is where facts are said: those that have a name there, with their names.
type place []named

type named struct {
	name string
	*fact
}

// placeOf makes a place once: most facts have no name in most places.
func placeOf(name func(f *fact) string) place {
	var p place
	for i := range facts {
		if n := name(&facts[i]); n != "" {
			p = append(p, named{n, &facts[i]})
		}
	}
	return p
}

//nolint:gochecknoglobals // they are made of the table
var (
	inHeaders = placeOf(func(f *fact) string { return f.header })
	atStart   = placeOf(func(f *fact) string {
		if !f.start {
			return ""
		}
		return f.header
	})
	lateInStream = placeOf(func(f *fact) string { return f.late })
	atEnd        = placeOf(func(f *fact) string { return f.end })
	inLog        = placeOf(func(f *fact) string { return f.log })
	inTrace      = placeOf(func(f *fact) string { return f.trace })
	inStream     = placeOf(func(f *fact) string { return f.member })
	inBody       = placeOf(func(f *fact) string {
		if f.streams {
			return ""
		}
		return f.member
	})
)

// each calls f for the facts that have something to say.
func (p place) each(s *gateway.Summary, f func(name string, value any)) {
	for i := range p {
		if value := p[i].value(s); value != nil && (value != "" || p[i].empty) {
			f(p[i].name, value)
		}
	}
}

// text is a value in words.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case *string:
		return *v
	case []string:
		return strings.Join(v, ",")
	}
	return fmt.Sprint(value)
}

// Headers sets the headers that say what was done: of a stream those that are known at its
// beginning, and of a whole answer all.
func Headers(h http.Header, s *gateway.Summary, whole bool) {
	to := setter{h: h}
	to.set("X-Callgate-Provider", s.Provider)
	to.set("X-Callgate-Model", clean(s.Model))
	to.attempts(s)
	p := atStart
	if whole || s.Replayed() {
		p = inHeaders
	}
	to.facts(s, p)
}

// Facts sets the headers of all facts, for an answer that is an error.
func Facts(h http.Header, s *gateway.Summary) {
	to := setter{h: h}
	to.facts(s, inHeaders)
}

func (to *setter) facts(s *gateway.Summary, p place) {
	p.each(s, func(name string, value any) { to.set(name, clean(short(text(value)))) })
}

// maxValue is how many bytes of a fact a header has: some hold a model's own words, and clients refuse an
// answer whose headers are too long, some from 16 KiB on. The log has all of it.
const maxValue = 2 << 10

// short is a text that a header can hold.
func short(text string) string {
	const mark = "..."
	if len(text) <= maxValue {
		return text
	}
	return text[:maxValue-len(mark)] + mark
}

// setter sets headers. Their values have their place in few slices, as net/http's own have.
type setter struct {
	h    http.Header
	room []string
}

// mostHeaders is for how many values there is room in one slice: most answers need no other.
const mostHeaders = 16

// set sets a header whose name is canonical: [http.Header.Set] would look at every byte of it
// for each answer.
func (to *setter) set(name, text string) {
	if len(to.room) == 0 {
		to.room = make([]string, mostHeaders)
	}
	to.room[0] = text
	to.h[name], to.room = to.room[:1:1], to.room[1:]
}

// Attempts sets the headers that say what was tried.
func Attempts(h http.Header, s *gateway.Summary) {
	to := setter{h: h}
	to.attempts(s)
}

func (to *setter) attempts(s *gateway.Summary) {
	to.set("X-Callgate-Attempts", strconv.Itoa(len(s.Attempts)))
	if len(s.Attempts) < 2 {
		return
	}
	to.set("X-Callgate-Retry-Delay-Ms", delayText(s))
	to.set("X-Callgate-Fallbacks", strconv.Itoa(s.Fallbacks()))
}

func delayText(s *gateway.Summary) string {
	return strconv.FormatInt(s.RetryDelay().Round(time.Millisecond).Milliseconds(), 10)
}

func attemptsText(s *gateway.Summary) string {
	return fmt.Sprintf(" attempts=%d fallbacks=%d retry_delay_ms=%s", len(s.Attempts), s.Fallbacks(), delayText(s))
}

// Late is what the headers say of where an answer comes from, as a comment of a stream whose
// headers went out before that was known.
func Late(s *gateway.Summary) string {
	return comment(s, fmt.Sprintf("provider=%s model=%s", s.Provider, s.Model)+attemptsText(s), lateInStream)
}

// Comment is what the headers of a whole answer would say, as a comment that ends a stream;
// "" if nothing was done but what the stream's own headers say.
func Comment(s *gateway.Summary) string {
	done := s.Changed || s.Calls > 0 || len(s.Faults) > 0
	if !done && len(s.Warnings) <= s.WarningsInHeader && len(s.Attempts) < 2 && guardText(s) == "" && savedText(s) == "" && costText(s.Spent) == "" {
		return ""
	}
	head := "mode=" + s.Mode.String()
	if len(s.Attempts) > 1 {
		head += " provider=" + s.Provider + attemptsText(s)
	}
	return comment(s, head, atEnd)
}

func comment(s *gateway.Summary, head string, p place) string {
	var b strings.Builder
	b.WriteString(": callgate " + head)
	p.each(s, func(name string, value any) { b.WriteString(" " + name + "=" + text(value)) })
	return clean(b.String()) + "\n\n"
}

// LogFields calls f for what a log says of a request. Values are texts, numbers and durations.
func LogFields(s *gateway.Summary, f func(name string, value any)) {
	inLog.each(s, func(name string, value any) {
		if list, ok := value.([]string); ok {
			value = text(list)
		}
		f(name, value)
	})
}

// TraceFields calls f for what a trace says of a request. Values are texts, lists of texts, numbers,
// truth values and durations.
func TraceFields(s *gateway.Summary, f func(name string, value any)) {
	inTrace.each(s, f)
}

// Execution is the value of the member "execution" of an answer, as JSON.
func Execution(s *gateway.Summary, streamed bool) []byte {
	b := []byte{'{'}
	p := inBody
	if streamed {
		p = inStream
	}
	p.each(s, func(name string, value any) {
		encoded, _ := json.Marshal(value) // numbers and strings cannot fail
		b = append(wire.AppendKey(b, name), encoded...)
	})
	return append(b, '}')
}

// clean is s without what may not stand in a header or a comment: a line end would begin
// another event, and names of tools are the model's own words.
func clean(s string) string {
	for i := range len(s) {
		if !isPlain(rune(s[i])) {
			return strings.Map(func(r rune) rune {
				if isPlain(r) {
					return r
				}
				return '?'
			}, s)
		}
	}
	return s
}

func isPlain(r rune) bool { return ' ' <= r && r <= '~' }
