package conformance

import (
	"context"
	"fmt"
	"mime"
	"net/http"
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

// Check runs a case on a target whose upstream is up.
func Check(ctx context.Context, target Target, up *Upstream, c Case) Result {
	var r Result
	for _, f := range c.Features {
		if f != Chat && f != Stream && !target.claims(f) {
			r.Skipped = "the target does not claim " + f
			return r
		}
	}
	model := target.model(c.Reader())
	if model == "" {
		r.Skipped = "the target has no model with the parser " + c.Reader()
		return r
	}
	exchanges := c.exchanges(&target)
	if len(exchanges) == 0 {
		r.Skipped = "the target does not claim " + strings.Join(c.Features, " or ")
		return r
	}
	r.Got = gotten{}
	for i := range exchanges {
		r.Exchanges++
		if f := c.run(ctx, &target, up, model, &exchanges[i], r.Got); len(f.Faults) > 0 {
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

// run runs a case in one way. What came goes to got, too.
func (c *Case) run(ctx context.Context, t *Target, up *Upstream, model string, e *exchange, got gotten) Failure {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	end := up.begin(&e.script)
	a, err := t.ask(ctx, c.body(model, e.stream))
	received := end()
	if err != nil {
		return Failure{Faults: []string{"there is no answer: " + err.Error()}}
	}
	f := Failure{Status: a.status, Body: a.body}
	f.Faults = append(c.checkAnswer(a, e, got), c.checkReceived(received, model, e, got)...)
	return f
}

func (c *Case) checkAnswer(a *answered, e *exchange, got gotten) (faults []string) {
	w := &c.Want
	status := http.StatusOK
	if w.Status != 0 {
		status = w.Status
	}
	if a.status >= http.StatusBadRequest || w.Error != nil {
		c.collect(got, a, nil, e)
	}
	if a.status != status {
		return []string{fmt.Sprintf("status: got %d, want %d", a.status, status)}
	}
	if a.cut != nil {
		faults = append(faults, "the answer's body broke off: "+a.cut.Error())
	}
	for name, value := range w.Header {
		if has := a.header.Get(name); has != value {
			faults = append(faults, fmt.Sprintf("header %s: got %q, want %q", name, has, value))
		}
	}
	if w.Error != nil {
		faults = append(faults, checkType(a.header, "application/json")...)
		return append(faults, checkError(w.Error, a.body)...)
	}
	if e.stream {
		faults = append(faults, checkType(a.header, "text/event-stream")...)
		r := readStream(a.body)
		c.collect(got, a, r, e)
		return append(faults, c.checkStream(r, e)...)
	}
	faults = append(faults, checkType(a.header, "application/json")...)
	r := readWhole(a.body)
	c.collect(got, a, r, e)
	faults = append(faults, r.faults...)
	if w.Body != nil {
		faults = append(faults, differJSON("body", w.Body, a.body, false, "id", "created", "model")...)
	}
	return append(faults, c.checkMeaning(r, e)...)
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
	faults = append(faults, checkError(w.StreamError, r.failure)...)
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

// checkReceived checks what the upstream was asked.
func (c *Case) checkReceived(received [][]byte, model string, e *exchange, got gotten) []string {
	switch {
	case c.silent() && len(received) > 0:
		return []string{"the upstream was asked, though the request is at fault"}
	case c.silent():
		return nil
	case len(received) == 0:
		return []string{"the upstream was not asked"}
	case !c.wants("want/upstream.json", c.Want.Upstream != nil):
		return nil
	}
	drop := []string{"model"}
	for _, m := range c.added(model, e.stream) {
		drop = append(drop, m.name)
	}
	last := received[len(received)-1]
	if v, err := decode(last); err == nil {
		got.set("want/upstream.json", layOut(without(v, drop...)))
	}
	if c.Want.Upstream == nil {
		return nil
	}
	return differJSON("upstream's request", c.Want.Upstream, last, false, drop...)
}
