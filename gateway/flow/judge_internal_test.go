package flow

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// ruler is a judge: it says a word, or waits.
type ruler struct {
	word   string
	breaks bool // behind the word
	asked  int
	seen   string
	waits  bool
}

func (r *ruler) Chat(ctx context.Context, _ string, req *gateway.Request) (gateway.Reply, error) {
	r.asked++
	r.seen = string(req.Body.Bytes())
	if r.waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &ruled{word: r.word, breaks: r.breaks}, nil
}

type ruled struct {
	word   string
	breaks bool
	at     int
}

func (r *ruled) Header() http.Header { return http.Header{} }
func (r *ruled) Streamed() bool      { return r.breaks }
func (r *ruled) Close() error        { return nil }

func (r *ruled) Next() (*gateway.Frame, error) {
	if r.at++; r.at > 1 && r.breaks {
		return nil, &gateway.Error{Kind: gateway.Unavailable, Code: "upstream_cut"}
	} else if r.at > 1 {
		return nil, io.EOF
	}
	if r.breaks {
		data := []byte(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"` + r.word + `"},"finish_reason":null}],"usage":{"prompt_tokens":200,"completion_tokens":1}}`)
		return &gateway.Frame{Raw: data, Data: data}, nil
	}
	data := []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"` + r.word + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":1}}`)
	return &gateway.Frame{Raw: data, Data: data}, nil
}

// TestGuardJudge has a model asked before a call is demanded. Its no lets the answer through, its
// yes demands the call, and where it says nothing the rules count.
func TestGuardJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		judge   *ruler
		calls   int
		verdict string
	}{
		{"no", &ruler{word: "No."}, 0, "ok"},
		{"yes", &ruler{word: "yes"}, 1, "ghost"},
		{"behind thoughts", &ruler{word: "<think>Was it yes?</think> no"}, 0, "ok"},
		{"unclear", &ruler{word: "maybe"}, 1, "unclear"},
		{"breaks off", &ruler{word: "No, but", breaks: true}, 1, "error"},
		{"too slow", &ruler{waits: true}, 1, "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &scene{tools: []string{"delete_task"}, answer: "Done! I've deleted the task Rent.", allowed: []string{"delete_task 1"}}
			s.say("user", "delete the task Rent")
			model := &obedient{scene: s}
			g, err := New(Options{
				Log: slog.New(slog.DiscardHandler), Providers: map[string]gateway.Provider{"p": model, "j": c.judge},
				Routes:      map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair}}},
				RoutePolicy: RoutePolicy{Guard: gateway.Repair, Judge: "j/small", JudgeTime: time.Second},
			})
			if err != nil {
				t.Fatal(err)
			}
			req, err := gateway.ParseRequest([]byte(s.request(false)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := g.Chat(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			for err == nil {
				_, err = resp.Next()
			}
			var ruling *gateway.Ruling
			if v := resp.Summary.Guard; v != nil && v.Judged != nil {
				ruling = v.Judged
			}
			for _, done := range resp.Summary.Corrections {
				if done.Verdict != nil && done.Verdict.Judged != nil {
					ruling = done.Verdict.Judged
				}
			}
			if len(model.made) != c.calls || c.judge.asked != 1 || ruling == nil || ruling.Verdict() != c.verdict {
				t.Fatalf("got %d calls, the judge asked %d times and the ruling %+v, want %d, 1 and %s", len(model.made), c.judge.asked, ruling, c.calls, c.verdict)
			}
			if !c.judge.waits && ruling.Usage.Input != 200 {
				t.Errorf("got the usage %+v, want the judge's", ruling.Usage)
			}
			if !strings.Contains(c.judge.seen, "delete the task Rent") || !strings.Contains(c.judge.seen, "I've deleted the task Rent") {
				t.Errorf("got the question %s, want message and answer in it", c.judge.seen)
			}
		})
	}
}

// unsent is a judge whose upstream has nothing of the question when its time is over.
type unsent struct{ sent bool }

func (u *unsent) Chat(ctx context.Context, _ string, _ *gateway.Request) (gateway.Reply, error) {
	<-ctx.Done()
	return nil, &gateway.Error{Kind: gateway.Timeout, Unsent: !u.sent}
}

// billed is a meter that notes what it is told of a judge.
type billed struct{ use gateway.Use }

func (b *billed) Begin(string, string, gateway.Purpose, int) error { return nil }
func (b *billed) Came(int)                                         {}
func (b *billed) Ended(u gateway.Use)                              { b.use = u }

// TestJudgeUnsent holds that a question that was not sent costs nothing, and one that may have been is estimated.
func TestJudgeUnsent(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{false, true} {
		m := &billed{}
		r := judge(&unsent{sent}, "j", "small", time.Millisecond)(gateway.WithMeter(t.Context(), m), "Is it?")
		if r.Failed != "timeout" || m.use.Unbilled == sent || m.use.Purpose != gateway.ForJudge {
			t.Errorf("sent %v: got the ruling %+v and the use %+v", sent, r, m.use)
		}
	}
}

// talker is a judge's answer that goes on and on in large pieces, and has its usage at the end.
type talker struct{ ruled }

func (*talker) Streamed() bool { return true }

func (r *talker) Next() (*gateway.Frame, error) {
	r.at++
	data := []byte(`{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("no ", maxSaid/3) + `"},"finish_reason":null}]}`)
	if r.at == 100 {
		data = []byte(`{"choices":[],"usage":{"prompt_tokens":200,"completion_tokens":1}}`)
	}
	if r.at > 100 {
		return nil, io.EOF
	}
	return &gateway.Frame{Raw: data, Data: data}, nil
}

// TestJudgeTalks holds that what a judge says is kept up to a bound, and its usage read all the same.
func TestJudgeTalks(t *testing.T) {
	t.Parallel()
	var a judgeAnswer
	if err := a.read(&talker{}); err != nil || len(a.text) > maxSaid || a.usage.Input != 200 {
		t.Errorf("got %d bytes, %+v and %v, want at most %d and the usage", len(a.text), a.usage, err, maxSaid)
	}
}
