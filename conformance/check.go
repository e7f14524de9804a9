package conformance

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Result is what came of a case on a target.
type Result struct {
	Skipped   string // why the case was not run, or ""
	Exchanges int    // how many requests were sent
	Failures  []Failure
	// Got is what the files of the case's want, by name, would have to be to pass.
	// It is for tests that write them anew; see Rewrite.
	Got map[string]string
}

// Failing is Got where something failed, and empty where all is well.
func (r Result) Failing() map[string]string {
	if len(r.Failures) == 0 {
		return nil
	}
	return r.Got
}

// Failure is an exchange that went wrong.
type Failure struct {
	Exchange string   // in which way the case was run: whole; stream, rune by rune …
	Faults   []string // what is wrong
	Status   int      // of the answer, 0 if there was none
	Body     []byte   // of the answer
}

// exchangeTime bounds an exchange.
const exchangeTime = 30 * time.Second

// slack is how many times as long as usual all may take. The tests of this repository, which
// run on busy machines, set it with the linker.
var slack = "1"

// patient is a time limit with that slack.
func patient(d time.Duration) time.Duration {
	n, err := strconv.Atoi(slack)
	if err != nil {
		panic(fmt.Sprintf("conformance was built with the slack %q, which is no number", slack))
	}
	return time.Duration(n) * d
}

// Check runs a case on a target whose upstream is up.
func Check(ctx context.Context, target Target, up *Upstream, c Case) Result {
	r := Result{Skipped: target.skips(&c)}
	if r.Skipped != "" {
		return r
	}
	return c.run(ctx, &target, up, route{model: target.model(c.Reader())})
}

// skips says why a case is not for a target, or "".
func (t *Target) skips(c *Case) string {
	for _, f := range c.Features {
		if f != Chat && f != Stream && !t.claims(f) {
			return "the target does not claim " + f
		}
	}
	if t.model(c.Reader()) == "" {
		return "the target has no model with the parser " + c.Reader()
	}
	if len(c.exchanges(t)) == 0 {
		return "the target does not claim " + strings.Join(c.Features, " or ")
	}
	return ""
}

// run runs a case in all ways.
func (c *Case) run(ctx context.Context, t *Target, up *Upstream, on route) Result {
	r := Result{Got: gotten{}}
	exchanges := c.exchanges(t)
	for i := range exchanges {
		r.Exchanges++
		if f := c.judge(c.play(ctx, t, up, on, &exchanges[i]), &exchanges[i], r.Got); len(f.Faults) > 0 {
			f.Exchange = exchanges[i].name
			r.Failures = append(r.Failures, f)
		}
	}
	if len(c.Asked) > 0 {
		r.Failures = append(r.Failures, Failure{Exchange: "the file", Faults: []string{
			"empty, and to be filled with -update: " + strings.Join(c.Asked, ", ")}})
	}
	return r
}

// judge compares what took place with what the case wants. What came goes to got, too.
func (c *Case) judge(p *played, e *exchange, got gotten) (f Failure) {
	if p.err != nil {
		return Failure{Faults: []string{"there is no answer: " + p.err.Error()}}
	}
	if p.answer != nil {
		f.Status, f.Body = p.answer.status, p.answer.body
	}
	if p.leftAt.IsZero() { // or nobody has listened
		f.Faults = append(f.Faults, c.checkStatuses(p)...)
		if p.answer != nil {
			f.Faults = append(f.Faults, c.checkAnswer(p, e, got)...)
		}
	}
	f.Faults = append(f.Faults, c.checkReceived(p, e, got)...)
	if w := c.Want.Left; w > 0 && (p.endedIn == 0 || p.endedIn > patient(w)) {
		f.Faults = append(f.Faults, fmt.Sprintf("the upstream's connection is still open %v after the client has left", w))
	}
	return f
}

// checkStatuses compares the answers on a connection of the case's own.
func (c *Case) checkStatuses(p *played) (faults []string) {
	for i, options := range c.Want.Status {
		closed := slices.Contains(options, Closed)
		switch {
		case i < len(p.more) && i == 0: // checkAnswer compares it
		case i < len(p.more) && !statusIs(p.more[i].status, options):
			faults = append(faults, fmt.Sprintf("answer %d: got status %d, want %s", i+1, p.more[i].status, strings.Join(options, " or ")))
		case i < len(p.more):
		case closed && p.closed:
			return faults
		case p.closed:
			return append(faults, fmt.Sprintf("answer %d: the connection was closed, want %s", i+1, strings.Join(options, " or ")))
		default:
			return append(faults, fmt.Sprintf("answer %d: nothing came, and the connection stays open; want %s", i+1, strings.Join(options, " or ")))
		}
	}
	if n := len(c.Want.Status); n > 0 && len(p.more) > n {
		faults = append(faults, fmt.Sprintf("there are %d answers, want no more than %d; the next has status %d", len(p.more), n, p.more[n].status))
	}
	return faults
}

func (c *Case) checkAnswer(p *played, e *exchange, got gotten) (faults []string) {
	w, a := &c.Want, p.answer
	if a.status >= http.StatusBadRequest || w.Error != nil {
		c.collect(got, a, nil, e)
	}
	if !statusIs(a.status, w.first()) {
		return []string{fmt.Sprintf("status: got %d, want %s", a.status, strings.Join(w.first(), " or "))}
	}
	if a.cut != nil {
		faults = append(faults, "the answer's body broke off: "+a.cut.Error())
	}
	faults = append(faults, differHeader("header", w.Header, a.header, p.key)...)
	if w.Error != nil {
		faults = append(faults, checkType(a.header, "application/json")...)
		return append(faults, checkError(w.Error, a.body, c.silent())...)
	}
	if a.status >= http.StatusBadRequest || c.Client != nil && w.statusOnly() {
		return faults
	}
	if e.stream {
		faults = append(faults, checkType(a.header, "text/event-stream")...)
		r := readStream(a.body)
		c.collect(got, a, r, e)
		return append(append(faults, w.checkRawData(r.data)...), c.checkStream(r, e)...)
	}
	faults = append(faults, checkType(a.header, "application/json")...)
	r := readWhole(a.body)
	c.collect(got, a, r, e)
	faults = append(faults, r.faults...)
	if w.RawBody != nil {
		faults = append(faults, differBytes("body", *w.RawBody, string(a.body))...)
	}
	if w.Body != nil {
		faults = append(faults, differJSON("body", w.Body, a.body, false, "id", "created", "model")...)
	}
	return append(faults, c.checkMeaning(r, e)...)
}

// statusOnly reports whether nothing is wanted of a good answer but its status: it may be
// one to anything.
func (w *Want) statusOnly() bool {
	return w.Answers == nil && w.Body == nil && w.RawBody == nil && w.RawData == nil && w.Frames == nil
}

func checkType(h http.Header, want string) []string {
	got, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || got != want {
		return []string{fmt.Sprintf("content type: got %q, want %q", h.Get("Content-Type"), want)}
	}
	return nil
}

func (c *Case) checkStream(r *reply, e *exchange) []string {
	w := &c.Want
	faults := append([]string(nil), r.faults...)
	if w.Frames != nil {
		faults = append(faults, differFrames(w.Frames, r.data)...)
	}
	switch {
	case r.failure == nil && w.StreamError != nil && !w.MayFail():
		return append(faults, "the stream ends well, want an error at its end")
	case r.failure == nil:
		return append(append(faults, c.checkMeaning(r, e)...), c.checkDeltas(r, e)...)
	case w.StreamError == nil:
		return append(faults, fmt.Sprintf("the stream ends with an error: %.300s", r.failure))
	}
	faults = append(faults, checkError(w.StreamError, r.failure, false)...)
	for i, got := range r.answers {
		if w.MayFail() && i < len(w.Answers) && !strings.HasPrefix(w.Answers[i].Content, got.Content) {
			faults = append(faults, fmt.Sprintf("choices[%d]: the content before the error is %.300q, want a beginning of %.300q", i, got.Content, w.Answers[i].Content))
		}
	}
	return faults
}

func differFrames(want, got []string) (faults []string) {
	for i := range min(len(want), len(got)) {
		at := fmt.Sprintf("data %d of the stream", i)
		faults = append(faults, differJSON(at, []byte(want[i]), []byte(got[i]), false, "id", "created", "model")...)
	}
	if len(want) != len(got) {
		faults = append(faults, fmt.Sprintf("the stream has data %d times, want %d", len(got), len(want)))
	}
	return faults
}

// checkMeaning compares what an answer means with what the case wants.
func (c *Case) checkMeaning(r *reply, e *exchange) (faults []string) {
	w := &c.Want
	if e.script.model != nil {
		want, _ := decodeObject([]byte(usage)) // it is one
		faults = differ("usage", want, r.usage, true)
	}
	if w.Answers == nil {
		return faults
	}
	if len(w.Answers) != len(r.answers) {
		return append(faults, fmt.Sprintf("there are %d choices, want %d", len(r.answers), len(w.Answers)))
	}
	for i := range w.Answers {
		faults = append(faults, differAnswers(fmt.Sprintf("choices[%d]", i), &w.Answers[i], &r.answers[i])...)
	}
	return faults
}

func differAnswers(at string, want, got *Answer) (faults []string) {
	for _, m := range []struct{ name, want, got string }{
		{"content", want.Content, got.Content},
		{"reasoning", want.Reasoning, got.Reasoning},
		{"finish_reason", want.FinishReason, got.FinishReason},
	} {
		if m.want != m.got {
			faults = append(faults, fmt.Sprintf("%s: %s: got %.300q, want %.300q", at, m.name, m.got, m.want))
		}
	}
	if len(want.ToolCalls) != len(got.ToolCalls) {
		return append(faults, fmt.Sprintf("%s: got %d tool calls, want %d: %s", at, len(got.ToolCalls), len(want.ToolCalls), names(got.ToolCalls)))
	}
	for i, w := range want.ToolCalls {
		g, at := got.ToolCalls[i], fmt.Sprintf("%s: tool call %d", at, i)
		if w.Name != g.Name {
			faults = append(faults, fmt.Sprintf("%s: name: got %q, want %q", at, g.Name, w.Name))
		}
		if w.ID != "" && w.ID != g.ID {
			faults = append(faults, fmt.Sprintf("%s: id: got %q, want %q", at, g.ID, w.ID))
		}
		faults = append(faults, differJSON(at+": arguments", w.Arguments, g.Arguments, false)...)
	}
	return faults
}

func names(calls []Call) string {
	var list []string
	for _, c := range calls {
		list = append(list, c.Name)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
