package conformance

import (
	"context"
	"encoding/json"
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
	Exchange string  // in which way the case was run: whole; stream, rune by rune …
	Faults   []Fault // what is wrong
	Status   int     // of the answer, 0 if there was none
	Body     []byte  // of the answer
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
		if (f != Chat && f != Stream || c.Client != nil) && !t.claims(f) {
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
		r.Failures = append(r.Failures, Failure{Exchange: "the file", Faults: c.Level.blame(
			"empty, and to be filled with -update: " + strings.Join(c.Asked, ", "))})
	}
	return r
}

// judge compares what took place with what the case wants, level by level: what fails at one
// need not be looked at for the next. What came goes to got, too.
func (c *Case) judge(p *played, e *exchange, got gotten) (f Failure) {
	if p.err != nil && slices.Contains(c.Want.first(), Broken) {
		return f // nobody takes that for an answer
	}
	if p.err != nil {
		return Failure{Faults: c.Level.blame("there is no answer: " + p.err.Error())}
	}
	if p.answer != nil {
		f.Status, f.Body = p.answer.status, p.answer.body
	}
	for _, b := range c.allWants() {
		for _, fault := range c.judgeWant(&b, p, e, got) {
			once := formRules[fault.rule].once
			if once != "" && !strings.HasSuffix(c.Name, "/"+once) || slices.ContainsFunc(f.Faults, func(o Fault) bool { return o.Text == fault.Text }) {
				continue
			}
			if b.Level != c.Level { // the level before was content with it
				fault.Level = fault.Level.atLeast(b.Level)
			}
			f.Faults = append(f.Faults, fault)
		}
		if faulty(f.Faults, b.Level) {
			break
		}
	}
	return f
}

// judgeWant is judge for what one level wants.
func (c *Case) judgeWant(b *Beyond, p *played, e *exchange, got gotten) (faults []Fault) {
	if p.leftAt.IsZero() { // or nobody has listened
		faults = append(faults, b.Level.blame(b.Want.checkStatuses(p)...)...)
		if p.answer != nil {
			faults = append(faults, c.checkAnswer(b, p, e, got)...)
		}
	}
	faults = append(faults, c.checkReceived(b, p, e, got)...)
	if w := b.Want.Left; w > 0 && (p.endedIn == 0 || p.endedIn > patient(w)) {
		faults = append(faults, b.Level.blame(fmt.Sprintf("the upstream's connection is still open %v after the client has left", w))...)
	}
	return faults
}

// checkStatuses compares the answers on a connection of the case's own.
func (w *Want) checkStatuses(p *played) (faults []string) {
	for i, options := range w.Status {
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
	if n := len(w.Status); n > 0 && len(p.more) > n {
		faults = append(faults, fmt.Sprintf("there are %d answers, want no more than %d; the next has status %d", len(p.more), n, p.more[n].status))
	}
	return faults
}

// checkAnswer compares the first answer.
func (c *Case) checkAnswer(b *Beyond, p *played, e *exchange, got gotten) (faults []Fault) {
	w, a := &b.Want, p.answer
	if a.status >= http.StatusBadRequest || w.Error != nil {
		c.collect(got, a, nil, e)
	}
	switch {
	case c.isFailure(b, a, e):
		return nil
	case !statusIs(a.status, w.first()):
		return b.Level.blame(fmt.Sprintf("status: got %d, want %s", a.status, strings.Join(w.first(), " or ")))
	case a.cut != nil && e.stream && w.StreamError != nil && !w.MayFail(): // clients see that too
		return Own.blame("the stream breaks off, want an error in it: " + a.cut.Error())
	case a.cut != nil:
		faults = append(faults, faultOf("broken", "the answer's body broke off: "+a.cut.Error()))
	}
	faults = append(faults, b.Level.blame(differHeader("header", w.Header, a.header, p.key)...)...)
	if w.Error != nil {
		faults = append(faults, checkType("type_error", a.header, "application/json")...)
		return append(faults, c.checkError(b.Level, w.Error, a.body, c.silent())...)
	}
	if a.status >= http.StatusBadRequest || c.Client != nil && w.statusOnly() {
		return faults
	}
	return append(faults, c.checkGood(b, p, e, got)...)
}

// isFailure reports whether an answer is the failure that a level wants, though its status is
// that of a good one: it breaks off, or, where the upstream's own status is a good one too, is a
// stream with an error in it.
func (c *Case) isFailure(b *Beyond, a *answered, e *exchange) bool {
	options := b.Want.first()
	if a.cut != nil && slices.Contains(options, Broken) {
		return true
	}
	either := slices.Contains(options, "4xx") && slices.Contains(options, "5xx")
	return e.stream && b.Level == Core && a.status == http.StatusOK && either && c.readStream(a.body).failure != nil
}

// checkGood compares an answer that is no error.
func (c *Case) checkGood(b *Beyond, p *played, e *exchange, got gotten) (faults []Fault) {
	w, a := &b.Want, p.answer
	if e.stream {
		faults = append(faults, checkType("type", a.header, "text/event-stream")...)
		r := c.readStream(a.body)
		c.collect(got, a, r, e)
		faults = append(faults, Exact.atLeast(b.Level).blame(w.checkRawData(r.data)...)...)
		return append(faults, c.checkStream(b, r, e)...)
	}
	if c.protocol() != otherAPI {
		faults = append(faults, checkType("type", a.header, "application/json")...)
	}
	r := c.readWhole(a.body)
	c.collect(got, a, r, e)
	faults = append(faults, r.faults...)
	if w.RawBody != nil {
		if json.Valid([]byte(*w.RawBody)) {
			faults = append(faults, b.Level.grade(differJSON("body", []byte(*w.RawBody), a.body), Exact)...)
		}
		level := b.Level
		if c.protocol() == chatAPI {
			level = level.atLeast(Exact)
		}
		faults = append(faults, level.blame(differBytes("body", *w.RawBody, string(a.body))...)...)
	}
	if w.Body != nil {
		faults = append(faults, b.Level.grade(differJSON("body", w.Body, a.body, "id", "created", "model"), Exact)...)
	}
	return append(faults, c.checkMeaning(b, r, e)...)
}

// statusOnly reports whether nothing is wanted of a good answer but its status: it may be
// one to anything.
func (w *Want) statusOnly() bool {
	return w.Answers == nil && w.Body == nil && w.RawBody == nil && w.RawData == nil && w.Frames == nil
}

func checkType(rule string, h http.Header, want string) []Fault {
	got, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || got != want {
		return []Fault{faultOf(rule, fmt.Sprintf("content type: got %q, want %q", h.Get("Content-Type"), want))}
	}
	return nil
}

// checkStream compares a stream.
func (c *Case) checkStream(b *Beyond, r *reply, e *exchange) []Fault {
	w := &b.Want
	faults := append([]Fault(nil), r.faults...)
	if w.Frames != nil {
		level := b.Level
		if c.protocol() == chatAPI { // of which what the chunks mean is compared, too
			level = level.atLeast(Exact)
		}
		faults = append(faults, differFrames(level, w.Frames, r.data)...)
	}
	switch {
	case r.failure == nil && w.StreamError != nil && !w.MayFail():
		return append(faults, b.Level.blame("the stream ends well, want an error at its end")...)
	case r.failure == nil:
		faults = append(faults, c.checkMeaning(b, r, e)...)
		return append(faults, b.Level.atLeast(Own).blame(c.checkDeltas(w, r, e)...)...)
	case w.StreamError == nil:
		return append(faults, b.Level.blame(fmt.Sprintf("the stream ends with an error: %.300s", r.failure))...)
	}
	faults = append(faults, c.checkError(b.Level, w.StreamError, r.failure, false)...)
	for i, got := range r.answers {
		if w.MayFail() && i < len(w.Answers) && !strings.HasPrefix(w.Answers[i].Content, got.Content) {
			faults = append(faults, b.Level.blame(fmt.Sprintf("choices[%d]: the content before the error is %.300q, want a beginning of %.300q", i, got.Content, w.Answers[i].Content))...)
		}
	}
	return faults
}

// differFrames compares a stream's data one by one.
func differFrames(l Level, want, got []string) (faults []Fault) {
	for i := range min(len(want), len(got)) {
		at := fmt.Sprintf("data %d of the stream", i)
		faults = append(faults, l.grade(differJSON(at, []byte(want[i]), []byte(got[i]), "id", "created", "model"), Exact)...)
	}
	if len(want) != len(got) {
		faults = append(faults, l.blame(fmt.Sprintf("the stream has data %d times, want %d", len(got), len(want)))...)
	}
	return faults
}

// checkMeaning compares what an answer means with what the case wants. Where that is shown as
// a stream's data, it is what those mean.
func (c *Case) checkMeaning(b *Beyond, r *reply, e *exchange) (faults []Fault) {
	w := &b.Want
	answers := w.Answers
	if e.script.model != nil && c.protocol() == chatAPI {
		want, _ := decodeObject([]byte(usage)) // it is one
		faults = b.Level.grade(differ("usage", want, anyOf(r.usage)), "")
	}
	if want := c.protocol().usage(); e.script.says != nil && want != "" && c.Then == "" {
		o, _ := decodeObject([]byte(want)) // it is one
		faults = append(faults, b.Level.grade(differ("usage", o, anyOf(r.usage)), "")...)
	}
	if answers == nil && e.stream && w.Frames != nil && w.StreamError == nil && c.protocol() == chatAPI {
		shown := readFrames(w.Frames)
		answers = shown.answers
		if shown.usage != nil {
			faults = append(faults, b.Level.grade(differ("usage", shown.usage, anyOf(r.usage)), "")...)
		}
	}
	if answers == nil {
		return faults
	}
	if len(answers) != len(r.answers) {
		return append(faults, b.Level.blame(fmt.Sprintf("there are %d choices, want %d", len(r.answers), len(answers)))...)
	}
	for i := range answers {
		faults = append(faults, c.differAnswers(b.Level, fmt.Sprintf("choices[%d]", i), &answers[i], &r.answers[i])...)
	}
	return faults
}

// anyOf is an object as decode gives it; nil is null.
func anyOf(o map[string]any) any {
	if o == nil {
		return nil
	}
	return o
}

// readFrames is what a stream's data mean.
func readFrames(frames []string) *reply {
	var b strings.Builder
	for _, f := range frames {
		if f == `"[DONE]"` {
			f = "[DONE]"
		}
		b.WriteString("data: " + f + "\n\n")
	}
	return readStream([]byte(b.String()))
}

func (c *Case) differAnswers(l Level, at string, want, got *Answer) (faults []Fault) {
	for _, m := range []struct{ name, want, got string }{
		{"content", want.Content, got.Content},
		{"reasoning", want.Reasoning, got.Reasoning},
		{"finish_reason", want.FinishReason, got.FinishReason},
	} {
		level := l
		if c.Parser != "none" && slices.Equal(strings.Fields(m.want), strings.Fields(m.got)) { // which of it belongs to the markup nobody has written down
			level = l.atLeast(Exact)
		}
		if m.want != m.got {
			faults = append(faults, level.blame(fmt.Sprintf("%s: %s: got %.300q, want %.300q", at, m.name, m.got, m.want))...)
		}
	}
	if len(want.ToolCalls) != len(got.ToolCalls) {
		return append(faults, l.blame(fmt.Sprintf("%s: got %d tool calls, want %d: %s", at, len(got.ToolCalls), len(want.ToolCalls), names(got.ToolCalls)))...)
	}
	for i, w := range want.ToolCalls {
		g, at := got.ToolCalls[i], fmt.Sprintf("%s: tool call %d", at, i)
		if w.Name != g.Name {
			faults = append(faults, l.blame(fmt.Sprintf("%s: name: got %q, want %q", at, g.Name, w.Name))...)
		}
		if w.ID != "" && w.ID != g.ID {
			faults = append(faults, l.blame(fmt.Sprintf("%s: id: got %q, want %q", at, g.ID, w.ID))...)
		}
		faults = append(faults, l.grade(differJSON(at+": arguments", w.Arguments, g.Arguments), l)...)
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
