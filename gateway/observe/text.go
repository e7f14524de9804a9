package observe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// ifAny is a value that is not said where it is 0.
func ifAny[N int | float64 | time.Duration](of func(s *gateway.Summary) N) func(s *gateway.Summary) any {
	return func(s *gateway.Summary) any {
		if n := of(s); n > 0 {
			return n
		}
		return nil
	}
}

// ifSeveral is a value that is said where there was more than one attempt.
func ifSeveral(of func(s *gateway.Summary) any) func(s *gateway.Summary) any {
	return func(s *gateway.Summary) any {
		if len(s.Attempts) < 2 {
			return nil
		}
		return of(s)
	}
}

// ifCached is a value that is said where the upstream counts what it reads from its cache.
func ifCached(of func(u *gateway.Usage) any) func(s *gateway.Summary) any {
	return func(s *gateway.Summary) any {
		if !s.Usage.CacheReported {
			return nil
		}
		return of(&s.Usage)
	}
}

func list(words []string) any {
	if len(words) == 0 {
		return nil
	}
	return words
}

// withheldNames are the headers of the last attempt's answer that the client did not get.
func withheldNames(s *gateway.Summary) any {
	if n := len(s.Attempts); n > 0 {
		return list(s.Attempts[n-1].Withheld.Names)
	}
	return nil
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// attemptList writes what was tried: openai first upstream_error, azure fallback ok.
func attemptList(attempts []gateway.Attempt) string {
	parts := make([]string, len(attempts))
	for i, a := range attempts {
		parts[i] = fmt.Sprintf("%s %s %s", a.Provider, a.Reason, a.Outcome)
	}
	return strings.Join(parts, ", ")
}

// cacheText is what became of the request where answers are kept: hit, miss or bypass.
func cacheText(s *gateway.Summary) any {
	if s.Replayed() {
		return string(gateway.AnswerHit)
	}
	return string(s.AnswerCache)
}

// ageText is how old a stored answer is, in seconds.
func ageText(s *gateway.Summary) any {
	if !s.Replayed() {
		return nil
	}
	return strconv.FormatInt(int64(s.Age/time.Second), 10)
}

// structuredText is what became of an answer that was to be JSON: invalid;class=answer_schema;path=items[2].id.
func structuredText(s *gateway.Summary) string {
	o := s.Structured
	if o == nil {
		return ""
	}
	text := string(o.Result)
	if o.Class != "" {
		text += ";class=" + o.Class
	}
	if o.Path != "" {
		text += ";path=" + o.Path
	}
	return text
}

// structuredMember is the same for an answer's body, with a sentence that says what is wrong.
func structuredMember(s *gateway.Summary) any {
	o := s.Structured
	if o == nil {
		return nil
	}
	return struct {
		Result  string `json:"result"`
		Class   string `json:"class,omitempty"`
		Path    string `json:"path,omitempty"`
		Problem string `json:"problem,omitempty"`
	}{string(o.Result), o.Class, o.Path, o.Message}
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
	if c.PassedOver != "" {
		text += ";passed_over=" + c.PassedOver
	}
	return text
}

// armText is the arm of a rollout that the request is in: hermes/new, and hermes/new;mixed where the
// control's target has answered instead.
func armText(s *gateway.Summary) string {
	a := s.Arm()
	if a == nil {
		return ""
	}
	if s.Mixed {
		return a.String() + ";mixed"
	}
	return a.String()
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
func roundsText(s *gateway.Summary) any {
	r := s.Rounds
	if r == nil {
		return nil
	}
	text := fmt.Sprintf("%d/%d;efficiency=%.2f", r.Rounds, r.Limit, r.Efficiency)
	if t := r.Taken; t.MaxTime > 0 {
		text += fmt.Sprintf(";seconds=%d/%d", int(t.Time.Seconds()), int(t.MaxTime.Seconds()))
	}
	if t := r.Taken; t.MaxNano > 0 {
		text += ";usd=" + gateway.Dollars(t.Nano) + "/" + gateway.Dollars(t.MaxNano)
		if t.Unpriced {
			text += ";unpriced"
		}
	}
	if r.Stop != "" {
		text += ";stop=" + string(r.Stop)
	}
	return text
}

// callsText counts the calls of an answer, where its text was read for them.
func callsText(s *gateway.Summary) any {
	if s.Calls == 0 && !s.TextParsed {
		return nil
	}
	return s.Calls + s.Native
}

// guardText is what the guard has against the answer.
func guardText(s *gateway.Summary) string {
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
func correctionText(s *gateway.Summary) any {
	var parts []string
	for _, c := range s.Corrections {
		parts = append(parts, strings.TrimSuffix(c.Reason+":"+c.Tool, ":"))
	}
	return list(parts)
}

// costText is what upstreams have cost for a request, as usd=0.0000475, with ;estimated where a usage was not
// reported; "" where a price is not known.
func costText(s gateway.Spent) string {
	if s.Answers == 0 || s.Unpriced > 0 {
		return ""
	}
	var room [64]byte
	text := gateway.AppendDollars(append(room[:0], "usd="...), s.Nano)
	if s.Estimated > 0 {
		text = append(text, ";estimated"...)
	}
	return string(text)
}

// savedText is what the upstream's cache has saved of the price.
func savedText(s *gateway.Summary) string {
	if s.Bill == nil {
		return ""
	}
	return s.Bill.SavedText()
}

func retriedCalls(s *gateway.Summary) any {
	type retried struct {
		Tool   string `json:"tool,omitempty"`
		Reason string `json:"reason"`
	}
	var calls []retried
	for _, c := range s.Corrections {
		calls = append(calls, retried{c.Tool, c.Reason})
	}
	if calls == nil {
		return nil
	}
	return calls
}

func roundsMember(s *gateway.Summary) any {
	r := s.Rounds
	if r == nil {
		return nil
	}
	out := struct {
		Used       int     `json:"used"`
		Limit      int     `json:"limit"`
		Efficiency float64 `json:"efficiency"`
		Seconds    float64 `json:"seconds,omitempty"`
		USD        float64 `json:"usd,omitempty"`
		Unpriced   bool    `json:"unpriced,omitempty"`
		Stopped    string  `json:"stopped,omitempty"`
	}{Used: r.Rounds, Limit: r.Limit, Efficiency: r.Efficiency, Unpriced: r.Taken.Unpriced, Stopped: string(r.Stop)}
	out.Seconds, out.USD = math.Round(r.Taken.Time.Seconds()*1000)/1000, float64(r.Taken.Nano)/1e9
	return out
}

func guardMember(s *gateway.Summary) any {
	v := s.Guard
	if v == nil {
		return nil
	}
	return struct {
		Ghost         bool     `json:"ghost"`
		Contradiction bool     `json:"contradiction,omitempty"`
		Score         float64  `json:"score"`
		Signals       []string `json:"signals"`
	}{v.Ghost, v.Contradiction, math.Round(v.Score*100) / 100, slices.AppendSeq([]string{}, v.For())}
}

func referencesMember(s *gateway.Summary) any {
	type resolved struct {
		Tool     string  `json:"tool"`
		Argument string  `json:"argument"`
		How      string  `json:"how"`
		Ratio    float64 `json:"ratio"`
	}
	var references []resolved
	for _, d := range s.References {
		references = append(references, resolved{d.Tool, d.Argument, string(d.How), d.Ratio})
	}
	if references == nil {
		return nil
	}
	return references
}

// toolRunText says what the gateway has done with tools of its own: rounds=3;calls=5;failed=1;stop=answer.
func toolRunText(s *gateway.Summary) any {
	run := s.ToolRun
	if run == nil || run.Rounds < 2 && len(run.Calls) == 0 {
		return nil
	}
	text := fmt.Sprintf("rounds=%d;calls=%d", run.Rounds, len(run.Calls))
	if n := run.Failed(); n > 0 {
		text += fmt.Sprintf(";failed=%d", n)
	}
	if run.Stop != "" {
		text += ";stop=" + string(run.Stop)
	}
	return text
}

// toolLimitsText says how far the gateway goes with tools of its own:
// rounds=15;warn=12;idle=3;time=120s;answer=20s;tool=10s;attempts=2;parallel=8;result=65536;results=262144.
func toolLimitsText(s *gateway.Summary) any {
	if s.ToolRun == nil {
		return nil
	}
	l := s.ToolRun.Limits
	text := fmt.Sprintf("rounds=%d;warn=%d;idle=%d;time=%gs;answer=%gs;tool=%gs;attempts=%d;parallel=%d;result=%d;results=%d",
		l.Rounds, l.Warn, l.Idle, l.Time.Seconds(), l.Answer.Seconds(), l.Tool.Seconds(), l.Attempts, l.Parallel, l.Result, l.Results)
	if l.Calls >= 0 {
		text += fmt.Sprintf(";calls=%d", l.Calls)
	}
	return text
}

// toolRunMember is the same for a program, with each call.
func toolRunMember(s *gateway.Summary) any {
	run := s.ToolRun
	if run == nil {
		return nil
	}
	type call struct {
		Server   string  `json:"server,omitempty"`
		Tool     string  `json:"tool,omitempty"`
		Outcome  string  `json:"outcome"`
		Attempts int     `json:"attempts"`
		Took     float64 `json:"took_ms"`
	}
	type missing struct {
		Server string `json:"server"`
		Tool   string `json:"tool,omitempty"`
		Why    string `json:"why"`
	}
	type limits struct {
		Rounds   int     `json:"rounds"`
		Warn     int     `json:"warn"`
		Idle     int     `json:"idle"`
		Calls    *int    `json:"calls,omitempty"`
		Parallel int     `json:"parallel"`
		Attempts int     `json:"attempts"`
		Time     float64 `json:"time_ms"`
		Answer   float64 `json:"answer_ms"`
		Tool     float64 `json:"tool_ms"`
		Result   int     `json:"result_bytes"`
		Results  int     `json:"results_bytes"`
	}
	l := run.Limits
	most := limits{l.Rounds, l.Warn, l.Idle, nil, l.Parallel, l.Attempts, milliseconds(l.Time), milliseconds(l.Answer), milliseconds(l.Tool), l.Result, l.Results}
	if l.Calls >= 0 {
		most.Calls = &l.Calls
	}
	out := struct {
		Offered int       `json:"offered"`
		Rounds  int       `json:"rounds"`
		Stop    string    `json:"stop,omitempty"`
		Calls   []call    `json:"calls"`
		Missing []missing `json:"missing,omitempty"`
		Limits  limits    `json:"limits"`
	}{run.Offered, run.Rounds, string(run.Stop), []call{}, nil, most}
	for _, c := range run.Calls {
		out.Calls = append(out.Calls, call{c.Server, c.Tool, c.Outcome, c.Attempts, milliseconds(c.Took)})
	}
	for _, m := range run.Missing {
		out.Missing = append(out.Missing, missing{m.Server, m.Tool, m.Why})
	}
	return out
}
