package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/providers/demo"
)

// demoRow is one question that is asked twice, and what is right about an answer to it.
type demoRow struct {
	group, title string
	direct       string // the model, asked directly
	model        string // the same through the gateway
	before       int    // requests before it, through the gateway
	body         func(model string, stream bool) *chatBody
	right        func(a *answer) bool // nil: only --details shows the row, since there is no right answer to it
}

// demoSide is what one side of a row gave, as --json prints it.
type demoSide struct {
	OK     bool     `json:"ok"`
	Calls  []string `json:"calls,omitempty"`
	Text   string   `json:"text,omitempty"`
	Finish string   `json:"finish_reason,omitempty"`
	Error  string   `json:"error,omitempty"`
	Says   string   `json:"callgate,omitempty"` // what the gateway says that it did
}

// demoResult is a row with its answers.
type demoResult struct {
	Group    string   `json:"group"`
	Model    string   `json:"model"`
	Title    string   `json:"title"`
	Direct   demoSide `json:"direct"`
	Callgate demoSide `json:"gateway"`
}

// demoSum is the last line.
type demoSum struct {
	Rows     int   `json:"rows"`
	Direct   int   `json:"direct"`
	Callgate int   `json:"gateway"`
	Took     int64 `json:"milliseconds"`
}

// side is an answer, judged.
func (r *demoRow) side(a *answer) demoSide {
	s := demoSide{OK: r.right(a), Text: a.text, Finish: string(a.finish), Error: a.err, Says: a.report}
	for _, c := range a.calls {
		s.Calls = append(s.Calls, c.name+"("+c.args+")")
	}
	if s.Error == "" && !a.done {
		s.Error = "the stream just ends"
	}
	return s
}

// asked are the calls that the user's question wants, with their arguments.
var asked = []demoCall{{name: "get_weather", args: `{"city":"Oslo"}`}, {name: "get_time", args: `{}`}}

// rightCalls is right where an answer has the first n calls of asked, each once, as an app can run them.
func rightCalls(n int) func(a *answer) bool {
	return func(a *answer) bool {
		if a.err != "" || !a.done || a.finish != openai.FinishReasonToolCalls || len(a.calls) != n {
			return false
		}
		ids := map[string]bool{"": true}
		for i, c := range a.calls {
			var args any
			if json.Unmarshal([]byte(c.args), &args) != nil || ids[c.id] {
				return false
			}
			ids[c.id] = true
			if b, _ := json.Marshal(args); c.name != asked[i].name || string(b) != asked[i].args { // what was read can be written
				return false
			}
		}
		return true
	}
}

// failsWith is right where nothing can be had, and an error says so that a program can tell from others.
func failsWith(pattern string) func(a *answer) bool {
	as := regexp.MustCompile(pattern)
	return func(a *answer) bool { return as.MatchString(a.err) }
}

// faultRows are scenes in which something goes wrong.
func faultRows() []demoRow {
	both := rightCalls(len(asked))
	row := func(title, direct, model string, right func(*answer) bool) demoRow {
		return demoRow{group: "faults", title: title, direct: direct, model: model, body: weatherBody, right: right}
	}
	same := func(title, model string, right func(*answer) bool) demoRow {
		return row(title, model, "demo/"+model, right)
	}
	down := row("it stays down: the breaker spares it", "unavailable", "broken/unavailable", failsWith("circuit_open"))
	down.before = 3
	return []demoRow{
		same("a model and a server without a fault", "native", both),
		same("a call as text", "hermes", both),
		same("trailing commas, bare keys, single quotes", "broken_args", both),
		same("two parallel calls that both say index 0", "wrong_index", both),
		same("no arguments: an empty string, no JSON", "empty_args", both),
		same("the same arguments twice in one call", "concatenated", rightCalls(1)),
		same("GetWeather for get_weather", "wrong_name", both),
		same("calls without ids", "missing_id", both),
		same("finish_reason \"stop\" behind a call", "stop_reason", both),
		same("arguments that nobody can repair: passed on and reported, never {}", "irreparable", nil),
		row("nobody can repair it: on_invalid_call: reject", "irreparable", "reject/irreparable", failsWith("invalid_tool_call")),
		same("429 with Retry-After", "rate_limited", both),
		row("503 every other time, with max_retries: 2", "flaky", "retry/flaky", both),
		same("an answer with nothing in it", "empty", failsWith("empty_completion")),
		same("a stream that is cut", "cut", failsWith("upstream_cut|^502 upstream_error")),
		same("an error in the place of the first chunk", "error_in_stream", failsWith("^500 upstream_error")),
		row("an upstream is down, with a second target", "unavailable", "fallback", both),
		down,
	}
}

// formatRows are the models that write calls as text, in each format.
func formatRows() []demoRow {
	calls := map[string]int{"custom": len(asked)}
	for _, f := range formats.All() {
		calls[f.Name] = len(asked)
		if f.Single {
			calls[f.Name] = 1
		}
	}
	var rows []demoRow
	for _, m := range demo.Formats() {
		if n := calls[m]; n > 0 {
			rows = append(rows, demoRow{group: "formats", direct: m, model: "demo/" + m, body: weatherBody, right: rightCalls(n)})
		}
	}
	return rows
}

const demoSchema = `{"type":"json_schema","json_schema":{"name":"order","strict":true,"schema":{"type":"object","properties":{"drink":{"type":"string","enum":["tea","coffee"]},"cups":{"type":"integer"},"sugar":{"type":"boolean"}},"required":["drink","cups","sugar"],"additionalProperties":false}}}`

// structuredRows are answers that are to be JSON.
func structuredRows() []demoRow {
	right := func(a *answer) bool {
		var order map[string]json.RawMessage
		return a.err == "" && a.done && json.Unmarshal([]byte(a.text), &order) == nil && len(order) == 3 &&
			regexp.MustCompile(`^"(tea|coffee)"$`).Match(order["drink"]) && regexp.MustCompile(`^\d+$`).Match(order["cups"]) && regexp.MustCompile(`^(true|false)$`).Match(order["sugar"])
	}
	body := func(model string, stream bool) *chatBody {
		return &chatBody{Model: model, Stream: stream, ResponseFormat: json.RawMessage(demoSchema),
			Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: "A cup of tea, please."}}}
	}
	row := func(title, model string, right func(*answer) bool) demoRow {
		return demoRow{group: "structured", title: title, direct: model, model: "strict/" + model, body: body, right: right}
	}
	return []demoRow{
		row("JSON in a fence of code", "json_fenced", right),
		row("JSON between sentences", "json_prose", right),
		row("bare keys, single quotes, trailing commas", "json_broken", right),
		row("JSON as a string of JSON", "json_string", right),
		row("numbers and booleans as strings", "json_types", right),
		row("a required field is missing: asked again", "json_missing", right),
		row("prose in place of JSON: asked again", "json_text", right),
		row("two answers at once: asked again", "json_twice", right),
		row("a field missing for good: an error", "json_missing_always", failsWith(`invalid_structured_output`)),
	}
}

func weatherBody(model string, stream bool) *chatBody {
	return &chatBody{
		Model: model, Stream: stream, Tools: json.RawMessage(demoTools),
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: demoPrompt}},
	}
}

// play asks one row's question on both sides.
func (s *stage) play(r *demoRow) (direct, through *answer, err error) {
	if direct, err = s.ask(s.direct, r.body(r.direct, !s.whole)); err != nil {
		return nil, nil, err
	}
	for range r.before {
		if _, err = s.ask(s.through, r.body(r.model, !s.whole)); err != nil {
			return nil, nil, err
		}
	}
	through, err = s.ask(s.through, r.body(r.model, !s.whole))
	return direct, through, err
}

// judge plays a row, and says which side can be worked with.
func (s *stage) judge(r *demoRow) (*demoResult, error) {
	direct, through, err := s.play(r)
	if err != nil {
		return nil, err
	}
	title := r.title
	if title == "" {
		title = strings.TrimSpace(strings.TrimPrefix(direct.text, "Let me check.")) // what every model says first
	}
	return &demoResult{Group: r.group, Model: r.model, Title: title, Direct: r.side(direct), Callgate: r.side(through)}, nil
}

// together is how many rows are asked at the same time.
const together = 12

// rows asks all questions, gives the results to show in their order, as they come, and sums up.
func (s *stage) rows(rows []demoRow, show func(*demoResult)) (demoSum, error) {
	began := time.Now()
	type outcome struct {
		result *demoResult
		err    error
	}
	done := make([]chan outcome, len(rows))
	places := make(chan struct{}, together)
	var running sync.WaitGroup
	defer running.Wait()
	for i := range done {
		done[i] = make(chan outcome, 1)
	}
	running.Go(func() {
		for i := range rows {
			places <- struct{}{}
			running.Go(func() {
				result, err := s.judge(&rows[i])
				done[i] <- outcome{result, err}
				<-places
			})
		}
	})
	sum := demoSum{Rows: len(rows)}
	for _, d := range done {
		o := <-d
		if o.err != nil {
			return sum, o.err
		}
		show(o.result)
		if o.result.Direct.OK {
			sum.Direct++
		}
		if o.result.Callgate.OK {
			sum.Callgate++
		}
	}
	sum.Took = time.Since(began).Milliseconds()
	return sum, nil
}

// table writes rows for people, 80 columns wide.
type table struct {
	w      io.Writer
	colour bool
	group  string
}

func newTable(w io.Writer) *table {
	file, ok := w.(*os.File)
	return &table{w: w, colour: ok && isatty.IsTerminal(file.Fd()) && os.Getenv("NO_COLOR") == ""}
}

// groupTitles say what the rows of a group have in common.
var groupTitles = map[string]string{
	"faults":     "Upstreams that fail and models that misspell",
	"formats":    "Models that write their calls as text",
	"structured": "Answers that are to be JSON",
}

const (
	modelWidth = 22
	titleWidth = 40
)

func (t *table) row(r *demoResult) {
	if r.Group != t.group {
		t.group = r.Group
		fmt.Fprintf(t.w, "\n%-*s direct  Callgate\n", modelWidth+titleWidth+1, groupTitles[r.Group])
	}
	fmt.Fprintf(t.w, "%s %s   %s       %s\n", column(strings.TrimPrefix(strings.TrimPrefix(r.Model, "demo/"), "strict/"), modelWidth), column(singleLine(r.Title), titleWidth), t.mark(r.Direct.OK), t.mark(r.Callgate.OK))
}

func (t *table) mark(ok bool) string {
	sign, colour := "✗", "31"
	if ok {
		sign, colour = "✓", "32"
	}
	if !t.colour {
		return sign
	}
	return "\x1b[" + colour + "m" + sign + "\x1b[0m"
}

// singleLine is a text with its ends of lines as a reader sees them in a string.
func singleLine(s string) string {
	return strings.NewReplacer("\n", "⏎", "\t", " ", "\r", "").Replace(s)
}

// column cuts or fills a text to so many characters.
func column(s string, width int) string {
	if n := utf8.RuneCountInString(s); n <= width {
		return s + strings.Repeat(" ", width-n)
	}
	return string([]rune(s)[:width-1]) + "…"
}

// show shows rows, and what they come to.
func (s *stage) show(groups []string, asJSON bool) error {
	var rows []demoRow
	for _, g := range []struct {
		name string
		rows func() []demoRow
	}{{"faults", faultRows}, {"formats", formatRows}, {"structured", structuredRows}} {
		if slices.Contains(groups, g.name) {
			rows = append(rows, slices.DeleteFunc(g.rows(), func(r demoRow) bool { return r.right == nil })...)
		}
	}
	if asJSON {
		out := json.NewEncoder(s.e.stdout)
		out.SetEscapeHTML(false)
		sum, err := s.rows(rows, func(r *demoResult) { _ = out.Encode(r) })
		if err != nil {
			return err
		}
		return out.Encode(sum)
	}
	fmt.Fprintf(s.e.stdout, "Each row is asked twice, %s: the upstream directly, and through Callgate.\n"+
		"✓ what the app can work with: the right calls, the right JSON, a clear error.\n", s.manner())
	t := newTable(s.e.stdout)
	sum, err := s.rows(rows, t.row)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.e.stdout, "\ndirect %d of %d, Callgate %d of %d, in %.1f s\n", sum.Direct, sum.Rows, sum.Callgate, sum.Rows, float64(sum.Took)/1000)
	return err
}
