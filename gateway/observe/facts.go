// Package observe says what was done for a request. One table names what there is to say and
// where: in response headers, in the comment that ends a stream, in the log and in traces.
// Who adds a fact adds a line to it.
package observe

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// fact is something that there is to say of a request: its names in each place, "" where it
// is not said, and its text, "" if there is nothing to say.
type fact struct {
	header string // in the form that http.CanonicalHeaderKey gives it
	start  bool   // it is known before the first byte of a stream
	late   string // in the comment in place of headers, where a heartbeat has sent those
	end    string // in the comment that ends a stream
	log    string
	trace  string
	text   func(s *gateway.Summary) string
}

// facts is the table, in the order in which they are said.
var facts = []fact{ //nolint:gochecknoglobals // a table
	{header: "X-Callgate-Cache", start: true, late: "cache", text: cacheText},
	{log: "answer_cache", text: func(s *gateway.Summary) string { return string(s.AnswerCache) }},
	{header: "Age", start: true, late: "age", log: "age", text: ageText},
	{header: "X-Callgate-Route", start: true, late: "route", log: "route", text: RouteText},
	{header: "X-Callgate-Prefix", start: true, log: "prefix", text: PrefixText},
	{header: "X-Callgate-Tool-Rounds", start: true, late: "rounds", log: "tool_rounds", text: roundsText},
	{header: "X-Callgate-Parser", end: "parser", log: "parser", text: func(s *gateway.Summary) string { return strings.Join(s.Parsers, ",") }},
	{end: "calls", text: callsText},
	{header: "X-Callgate-Faults", end: "faults", log: "faults", trace: "callgate.faults", text: func(s *gateway.Summary) string { return s.FaultList() }},
	{header: "X-Callgate-Repairs", end: "repairs", log: "repairs", trace: "callgate.repairs", text: func(s *gateway.Summary) string { return s.RepairList() }},
	{header: "X-Callgate-Warnings", start: true, late: "warnings", end: "warnings", log: "warnings", text: func(s *gateway.Summary) string { return strings.Join(s.Warnings, ",") }},
	{header: "X-Callgate-Guard", late: "guard", end: "guard", log: "guard", text: GuardText},
	{header: "X-Callgate-Corrections", start: true, late: "corrections", end: "corrections", log: "corrections", text: correctionText},
	{header: "X-Callgate-Cached-Tokens", text: cachedText},
	{header: "X-Callgate-Saved", end: "saved", log: "saved", text: savedText},
}

// each calls f for the facts that have a name in one place, and something to say.
func each(s *gateway.Summary, name func(f *fact) string, f func(name, text string)) {
	for i := range facts {
		if n := name(&facts[i]); n != "" {
			if text := facts[i].text(s); text != "" {
				f(n, text)
			}
		}
	}
}

// Headers sets the headers that say what was done: of a stream those that are known at its
// beginning, and of a whole answer all.
func Headers(h http.Header, s *gateway.Summary, whole bool) {
	set(h, "X-Callgate-Provider", s.Provider)
	set(h, "X-Callgate-Model", Sanitized(s.Model))
	Attempts(h, s)
	Facts(h, s, whole || s.Replayed())
}

// Facts sets the headers of the facts: those that are known at an answer's beginning, or all.
func Facts(h http.Header, s *gateway.Summary, all bool) {
	each(s, func(f *fact) string {
		if f.start || all {
			return f.header
		}
		return ""
	}, func(name, text string) { set(h, name, Sanitized(text)) })
}

// set sets a header whose name is canonical: [http.Header.Set] would look at every byte of it
// for each answer.
func set(h http.Header, name, text string) { h[name] = []string{text} }

// Attempts sets the headers that say what was tried.
func Attempts(h http.Header, s *gateway.Summary) {
	set(h, "X-Callgate-Attempts", strconv.Itoa(len(s.Attempts)))
	if len(s.Attempts) < 2 {
		return
	}
	set(h, "X-Callgate-Retry-Delay-Ms", delayText(s))
	set(h, "X-Callgate-Fallbacks", strconv.Itoa(s.Fallbacks()))
}

// Late is what the headers say of where an answer comes from, as a comment of a stream whose
// headers went out before that was known.
func Late(s *gateway.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, ": callgate provider=%s model=%s", s.Provider, s.Model)
	attemptsText(&b, s)
	each(s, func(f *fact) string { return f.late }, func(name, text string) { fmt.Fprintf(&b, " %s=%s", name, text) })
	return Sanitized(b.String()) + "\n\n"
}

func attemptsText(b *strings.Builder, s *gateway.Summary) {
	fmt.Fprintf(b, " attempts=%d fallbacks=%d retry_delay_ms=%s", len(s.Attempts), s.Fallbacks(), delayText(s))
}

// Comment is what the headers of a whole answer would say, as a comment that ends a stream;
// "" if nothing was done but what the stream's own headers say.
func Comment(s *gateway.Summary) string {
	done := s.Changed || s.Calls > 0 || len(s.Faults) > 0
	if !done && len(s.Warnings) <= s.Told && len(s.Attempts) < 2 && GuardText(s) == "" && savedText(s) == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, ": callgate mode=%s", s.Mode)
	if len(s.Attempts) > 1 {
		fmt.Fprintf(&b, " provider=%s", s.Provider)
		attemptsText(&b, s)
	}
	each(s, func(f *fact) string { return f.end }, func(name, text string) { fmt.Fprintf(&b, " %s=%s", name, text) })
	return Sanitized(b.String()) + "\n\n"
}

// LogFields calls f for what the log says of a request in words.
func LogFields(s *gateway.Summary, f func(name, text string)) {
	each(s, func(f *fact) string { return f.log }, f)
}

// TraceFields calls f for what a trace says of a request in words.
func TraceFields(s *gateway.Summary, f func(name, text string)) {
	each(s, func(f *fact) string { return f.trace }, f)
}

// Sanitized is s without what may not stand in a header or a comment: a line end would begin
// another event, and names of tools are the model's own words.
func Sanitized(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

func delayText(s *gateway.Summary) string {
	return strconv.FormatInt(s.RetryDelay().Round(time.Millisecond).Milliseconds(), 10)
}

// cacheText is what became of the request where answers are kept: hit, miss or bypass.
func cacheText(s *gateway.Summary) string {
	if s.Replayed() {
		return string(gateway.AnswerHit)
	}
	return string(s.AnswerCache)
}

// ageText is how old a stored answer is, in seconds.
func ageText(s *gateway.Summary) string {
	if !s.Replayed() {
		return ""
	}
	return strconv.FormatInt(int64(s.Age/time.Second), 10)
}

// RouteText is how the targets were found: assistant;rule=2;language=th.
func RouteText(s *gateway.Summary) string {
	c := s.Route
	if c == nil {
		return ""
	}
	text := c.Route
	if c.Alias != "" {
		text += ";alias=" + c.Alias
	}
	if c.Rule > 0 {
		text += fmt.Sprintf(";rule=%d", c.Rule)
	}
	if c.Language != "" {
		text += ";language=" + c.Language
	}
	return text
}

// PrefixText is how the target was chosen: cached;expected=12/64.
func PrefixText(s *gateway.Summary) string {
	if s.Prefix == nil {
		return ""
	}
	return fmt.Sprintf("%s;expected=%d/%d", s.Prefix.Reason, s.Prefix.Expected, s.Prefix.Blocks)
}

// roundsText is the conversation's rounds of tools: 3/15 and how many of them brought
// something new.
func roundsText(s *gateway.Summary) string {
	r := s.Rounds
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%d/%d;efficiency=%.2f", r.Rounds, r.Limit, r.Efficiency)
	if r.Stop != "" {
		text += ";stop=" + string(r.Stop)
	}
	return text
}

// callsText counts the calls that were read from text, where any text was read.
func callsText(s *gateway.Summary) string {
	if s.Calls == 0 && !s.Read {
		return ""
	}
	return strconv.Itoa(s.Calls)
}

// GuardText is what the guard has against the answer.
func GuardText(s *gateway.Summary) string {
	v := s.Guard
	if v == nil || !v.Ghost && !v.Contradiction {
		return ""
	}
	what := "ghost"
	if !v.Ghost {
		what = "contradiction"
	}
	text := fmt.Sprintf("%s;score=%.2f;signals=%s", what, v.Score, strings.Join(slices.Collect(v.For()), "+"))
	if v.Tool != "" {
		text += ";tool=" + v.Tool
	}
	return text
}

// correctionText is what the model was told to do better: tool_not_triggered:delete_task.
func correctionText(s *gateway.Summary) string {
	var parts []string
	for _, c := range s.Corrections {
		parts = append(parts, strings.TrimSuffix(c.Reason+":"+c.Tool, ":"))
	}
	return strings.Join(parts, ",")
}

// cachedText is how many tokens of the prompt the upstream had in its cache: 3000/3600.
func cachedText(s *gateway.Summary) string {
	if !s.Usage.CacheReported {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Usage.CacheRead, s.Usage.Input)
}

// savedText is what the upstream's cache has saved of the price.
func savedText(s *gateway.Summary) string {
	if s.Bill == nil {
		return ""
	}
	return s.Bill.SavedText()
}
