package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
)

// search calls the tool search each time, with other arguments.
func search(stream bool) func(n int, r *gateway.Request) string {
	return func(n int, r *gateway.Request) string {
		if r.Reading.Choice().None {
			return says(stream, n, "Enough.")
		}
		return says(stream, n, "", fc{fmt.Sprintf("c%d", n), "a__search", fmt.Sprintf(`{"q":"%d"}`, n)})
	}
}

// TestRoundsEnd: after 15 rounds of calls the model is asked for its last answer, with its tools
// still listed, and from the twelfth on it is told how many are left.
func TestRoundsEnd(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		b := newBench(t, run.Policy{}, search(stream), toolserver.Tool{Server: "a", Name: "search"})
		count := 0
		b.shelf.do["a__search"] = func(context.Context, string) (*toolserver.Result, error) {
			count++
			return &toolserver.Result{Text: fmt.Sprint(count)}, nil
		}
		a := b.ask(body(stream, ""))
		a.one(t, "stop")
		if a.text != "Enough." || a.summary.ToolRun.Stop != gateway.StopRounds || a.summary.ToolRun.Rounds != 16 || count != 15 {
			t.Errorf("got %q, %+v and %d calls, want the last answer behind 15 rounds", a.text, a.summary.ToolRun, count)
		}
		last := b.model.bodies[15]
		if !strings.Contains(last, `"tool_choice":"none"`) || !strings.Contains(last, `"name":"a__search"`) {
			t.Errorf("got %s, want tool_choice none and the tools", last)
		}
		notes := map[int]any{}
		for i, r := range b.results(16) {
			notes[i+1] = r["note"]
		}
		if notes[11] != nil || notes[12] != "3 rounds of tool calls are left." || notes[14] != "1 round of tool calls is left." || !strings.HasPrefix(fmt.Sprint(notes[15]), "No rounds") {
			t.Errorf("got the notes %v", notes)
		}
	})
}

// TestNoProgress: three rounds in a row that bring nothing new are the last ones.
func TestNoProgress(t *testing.T) {
	b := newBench(t, run.Policy{}, func(n int, r *gateway.Request) string {
		if r.Reading.Choice().None {
			return says(true, n, "Enough.")
		}
		return says(true, n, "", fc{fmt.Sprintf("c%d", n), "a__search", []string{`{"q":"x","p":1}`, `{"p": 1, "q": "x"}`}[n%2]})
	}, toolserver.Tool{Server: "a", Name: "search"})
	a := b.ask(body(true, ""))
	a.one(t, "stop")
	if run := a.summary.ToolRun; run.Stop != gateway.StopIdle || run.Rounds != 5 || len(run.Calls) != 4 {
		t.Errorf("got %+v, want the last answer behind four equal rounds", run)
	}
}

// TestTimeEnds: a tool that hangs is given up when the time for the last answer comes, and the
// model answers in it.
func TestTimeEnds(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		b := newBench(t, run.Policy{Time: run.Times{Run: 1200 * time.Millisecond, Answer: time.Second}}, search(stream), toolserver.Tool{Server: "a", Name: "search"})
		b.shelf.do["a__search"] = func(ctx context.Context, _ string) (*toolserver.Result, error) {
			<-ctx.Done()
			return nil, &toolserver.Error{Kind: toolserver.Timeout, Sent: true, Message: "The tool did not answer in time."}
		}
		a := b.ask(body(stream, ""))
		a.one(t, "stop")
		if a.text != "Enough." || a.summary.ToolRun.Stop != gateway.StopTime {
			t.Errorf("got %q, %+v, want the last answer when the time was over", a.text, a.summary.ToolRun)
		}
		e := b.results(2)[0]["error"].(map[string]any)
		if e["type"] != "timeout" || !strings.Contains(e["hint"].(string), "outcome is unknown") || e["retryable"] != false {
			t.Errorf("got the error %v, want an unknown outcome", e)
		}
	})
}

// TestModelTimeEnds: a round that has not begun to answer when the time for the last answer
// comes is given up for it.
func TestModelTimeEnds(t *testing.T) {
	b := newBench(t, run.Policy{Time: run.Times{Run: 1200 * time.Millisecond, Answer: time.Second}}, nil, toolserver.Tool{Server: "a", Name: "search"})
	b.model.answer = func(ctx context.Context, n int, r *gateway.Request) (string, error) {
		switch {
		case n == 1:
			return says(true, n, "", fc{"c1", "a__search", `{}`}), nil
		case r.Reading.Choice().None:
			return says(true, n, "Enough."), nil
		}
		<-ctx.Done()
		told := *gateway.Ended(ctx) // as the gateway does, which adds what it has tried
		told.Message += " Tried: a/m (upstream_timeout), b/m (upstream_timeout)."
		return "", &told
	}
	a := b.ask(body(true, ""))
	a.one(t, "stop")
	if a.text != "Enough." || a.summary.ToolRun.Stop != gateway.StopTime || len(b.model.bodies) != 3 {
		t.Errorf("got %q, %+v and %d requests, want the last answer in the third", a.text, a.summary.ToolRun, len(b.model.bodies))
	}
}

// TestPartial: if the last answer fails too, the client gets what was found, and why.
func TestPartial(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		for _, how := range []string{"down", "empty", "calls", "breaks"} {
			b := newBench(t, run.Policy{Rounds: 1}, nil, toolserver.Tool{Server: "a", Name: "search"})
			b.model.answer = func(_ context.Context, n int, _ *gateway.Request) (string, error) {
				switch {
				case n == 1:
					return says(stream, n, "Let me look.", fc{"c1", "a__search", `{}`}), nil
				case how == "down":
					return "", &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream is down."}
				case how == "empty":
					return says(stream, n, ""), nil
				case how == "breaks" && stream:
					begin, _, _ := strings.Cut(says(stream, n, "Half an answer"), `{"content":"an an`)
					return begin + `"hang"}` + "\n\n", nil
				}
				return says(stream, n, "", fc{"c2", "a__search", `{}`}), nil
			}
			if how == "breaks" {
				if !stream {
					continue
				}
				b.change(func(o *run.Options) { o.Policy.Time = run.Times{Run: 500 * time.Millisecond} })
			}
			a := b.ask(body(stream, ""))
			a.one(t, "length")
			if !strings.HasPrefix(a.text, "Let me look.\n\n") || !strings.Contains(a.text, "a__search: result of search") || !strings.Contains(a.text, "not complete") {
				t.Errorf("%s: got %q, want what was found", how, a.text)
			}
			if got := strings.Join(a.summary.Warnings, ","); !strings.Contains(got, "partial_answer:") {
				t.Errorf("%s: got the warnings %q, want one", how, got)
			}
			if len(b.shelf.made()) != 1 {
				t.Errorf("%s: got the calls %v, want one", how, b.shelf.made())
			}
		}
	})
}

// TestFirstRoundFails: an error before any tool has run is the client's, as without tools.
func TestFirstRoundFails(t *testing.T) {
	b := newBench(t, run.Policy{}, nil, toolserver.Tool{Server: "a", Name: "search"})
	down := &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream is down."}
	b.model.answer = func(context.Context, int, *gateway.Request) (string, error) { return "", down }
	if a := b.ask(body(true, "")); !errors.Is(a.err, down) || len(b.model.bodies) != 1 {
		t.Errorf("got %v and %d requests, want the upstream's error and one", a.err, len(b.model.bodies))
	}
}

// TestSizes: results are cut to what one may have, and to what all may have.
func TestSizes(t *testing.T) {
	b := newBench(t, run.Policy{Size: run.Sizes{Result: 1000, Run: 2500}}, func(n int, _ *gateway.Request) string {
		if n <= 4 {
			return says(true, n, "", fc{fmt.Sprintf("c%d", n), "a__search", fmt.Sprintf(`{"q":"%d"}`, n)})
		}
		return says(true, n, "Done.")
	}, toolserver.Tool{Server: "a", Name: "search"})
	b.shelf.do["a__search"] = text(strings.Repeat("ü", 700))
	b.ask(body(true, "")).one(t, "stop")
	var got []string
	for _, r := range b.results(5) {
		got = append(got, fmt.Sprintf("%d %v", len(r["text"].(string)), r["missing"]))
	}
	if want := "[1000 the last 400 bytes 1000 the last 400 bytes 500 the last 900 bytes 0 the last 1400 bytes]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestParallel: no more than so many calls of a round run at once.
func TestParallel(t *testing.T) {
	b := newBench(t, run.Policy{Parallel: 3}, func(n int, _ *gateway.Request) string {
		if n > 1 {
			return says(true, n, "Done.")
		}
		var calls []fc
		for i := range 12 {
			calls = append(calls, fc{fmt.Sprintf("c%d", i), "a__search", fmt.Sprintf(`{"q":"%d"}`, i)})
		}
		return says(true, n, "", calls...)
	}, toolserver.Tool{Server: "a", Name: "search"})
	running, most := make(chan struct{}, 12), 0
	b.shelf.do["a__search"] = func(_ context.Context, args string) (*toolserver.Result, error) {
		running <- struct{}{}
		b.shelf.mu.Lock()
		most = max(most, len(running))
		b.shelf.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		<-running
		return &toolserver.Result{Text: args}, nil
	}
	b.ask(body(true, "")).one(t, "stop")
	if most > 3 {
		t.Errorf("got %d at once, want 3 at most", most)
	}
	for i, r := range b.results(2) {
		if want := fmt.Sprintf(`{"q":"%d"}`, i); r["text"] != want {
			t.Errorf("got the result %d %v, want %s: they are in the order of the calls", i, r["text"], want)
		}
	}
}

// TestErrorInRound: a call that an error of the upstream's has cut off is not made, whatever fields the
// error's event has.
func TestErrorInRound(t *testing.T) {
	for _, fields := range []string{"", "event: error\n"} {
		failure := fields + "data: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n"
		b := newBench(t, run.Policy{}, func(n int, _ *gateway.Request) string {
			whole := says(true, n, "", fc{"c1", "a__search", `{"q":"all of it"}`})
			before, _, _ := strings.Cut(whole, `"delta":{}`)
			return before[:strings.LastIndex(before, "data: ")] + failure
		}, toolserver.Tool{Server: "a", Name: "search"})
		a := b.ask(body(true, ""))
		if len(b.shelf.calls) != 0 || len(b.model.bodies) != 1 || !strings.HasSuffix(a.raw, failure) {
			t.Errorf("got %q, %d calls and %d requests, want the error", a.raw, len(b.shelf.calls), len(b.model.bodies))
		}
	}
}
