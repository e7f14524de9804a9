package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// finished is a chunk with a finish reason and nothing else.
func finished(reason string) string {
	return strings.Replace(finish, `"stop"`, fmt.Sprintf("%q", reason), 1)
}

// nothing is a whole answer with no text and a finish reason.
func nothing(reason string) string {
	return strings.Replace(completion(""), `"stop"`, fmt.Sprintf("%q", reason), 1)
}

// either answers with one text to those who want a stream, and another to others.
func either(t *testing.T, streamed, whole string) *site {
	t.Helper()
	return newSite(t, func(w http.ResponseWriter, r received) {
		if r.wantsStream() {
			w.Header().Set("content-type", events)
			send(w, streamed)
			return
		}
		w.Header().Set("content-type", mimeJSON)
		io.WriteString(w, whole)
	})
}

// TestFaultSuiteUselessAnswer has answers that come well and to their end, and with
// nothing in them that anyone could use: another target is asked. The upstream works,
// so its breaker does not count them.
func TestFaultSuiteUselessAnswer(t *testing.T) {
	t.Parallel()
	empty := failure{status: 502, code: "empty_completion", retry: "true", says: "empty"}
	malformed := failure{status: 502, code: "invalid_tool_call", retry: "true", says: "malformed"}
	blank := strings.Replace(completion(""), `"content":""`, `"content":" \n\t"`, 1)
	rows := []struct {
		name, how, keys string
		up              *site
		want            *failure // of one that is alone; nil: the answer is passed on
	}{
		{"empty", "a stop and no text", "", either(t, role+finish+done, nothing("stop")), &empty},
		{"end marker alone", "no chunk and no choice", "", either(t, done, nothing("tool_calls")), &empty},
		{"blank", "white space", "", either(t, role+delta(" ")+delta("\n")+finish+done, blank), &empty},
		{"no content", "null and empty lists", "", either(t,
			strings.Replace(role, `"content":""`, `"content":null,"tool_calls":[],"reasoning_content":""`, 1)+finish+done,
			strings.Replace(completion(""), `"content":""`, `"content":null,"tool_calls":[]`, 1)), &empty},
		{"malformed call", "what Gemini says of a call that it could not read", "", either(t, role+finished("MALFORMED_FUNCTION_CALL")+done, nothing("malformed_function_call")), &malformed},
		{"filtered", "the answer was withheld", "", either(t, role+finished("content_filter")+done, nothing("content_filter")), nil},
		{"no room", "no token was left for the answer", "", either(t, role+finished("length")+done, nothing("length")), nil},
		{"empty is good", "the operator takes it", "empty_completion: pass", either(t, role+finish+done, nothing("stop")), nil},
	}
	var s setup
	other := well(t)
	s.provider("well", other.url, "")
	for i, r := range rows {
		name := fmt.Sprintf("up%d", i)
		s.provider(name, r.up.url, strings.Trim("circuit_breaker: {failure_threshold: 1}, "+r.keys, ", "))
		s.model(fmt.Sprintf("alone%d", i), name)
		s.model(fmt.Sprintf("two%d", i), name, "well")
	}
	g := serve(t, s.String())
	for i, row := range rows {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream %t", row.name, stream), func(t *testing.T) {
				t.Parallel()
				t.Log(row.how)
				alone, two := g.chat(prompt(fmt.Sprintf("alone%d", i), "hi", stream)), g.chat(prompt(fmt.Sprintf("two%d", i), "hi", stream))
				clean(t, alone)
				if row.want != nil {
					row.want.check(t, alone)
					healthyAnswer(t, two, stream)
					hasHeader(t, two.header, map[string]string{"x-callgate-attempts": "2", "x-callgate-fallbacks": "1"})
				} else if alone.status != 200 || alone.body != two.body || strings.Contains(two.body, healthyText) {
					t.Errorf("got status %d, %q and %q, want the empty answer passed on", alone.status, alone.body, two.body)
				}
				if b := g.breaker(fmt.Sprintf("up%d", i)); b.State != "closed" || b.Totals.Failures != 0 {
					t.Errorf("got breaker %+v, want it closed without a failure", b)
				}
			})
		}
	}
}

// readEvent reads the next block of a stream.
func readEvent(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var b strings.Builder
	for {
		line, err := r.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			t.Fatalf("got %q and error %v, want an event", b.String(), err)
		}
		if line == "\n" {
			return b.String()
		}
	}
}

const ping = ": ping\n\n"

var callgateComment = regexp.MustCompile(`(?m)^: callgate .*\n\n`)

// TestFaultSuiteHeartbeat has upstreams that take their time. The client hears of it
// that the gateway lives, and what comes behind is right: the answer, that of another
// target, or an error, which then can only be an event.
func TestFaultSuiteHeartbeat(t *testing.T) {
	t.Parallel()
	pings := make(chan struct{})
	slow := func(then func(w http.ResponseWriter, r received)) *site {
		return newSite(t, func(w http.ResponseWriter, r received) {
			select {
			case <-pings:
			case <-r.Context().Done():
			}
			then(w, r)
		})
	}
	answers := func(w http.ResponseWriter, r received) { answerWith(w, r, healthyText) }
	fails := func(w http.ResponseWriter, _ received) { w.WriteHeader(503) }
	first := slow(func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		send(w, role)
	})
	var s setup
	s.head.WriteString("heartbeat: 50ms\n")
	s.provider("slow", slow(answers).url, "")
	s.provider("fails", slow(fails).url, "")
	s.provider("dies", first.url, "")
	s.provider("well", well(t).url, "")
	s.model("answers", "slow")
	s.model("falls_over", "dies", "slow")
	s.model("fails", "fails")
	g := serve(t, s.String())
	var all []*bufio.Reader
	models := []string{"answers", "falls_over", "fails"}
	for _, model := range models {
		resp, err := g.open(t.Context(), prompt(model, "hi", true))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 || resp.Header.Get("content-type") != events || resp.Header.Get("x-accel-buffering") != "no" || resp.Header.Get("cache-control") != "no-cache, no-store" {
			t.Errorf("got status %d and header %v, want those of a stream", resp.StatusCode, resp.Header)
		}
		r := bufio.NewReader(resp.Body)
		for range 3 {
			if got := readEvent(t, r); got != ping {
				t.Fatalf("got %q, want a heartbeat", got)
			}
		}
		all = append(all, r)
	}
	close(pings)
	for i, r := range all {
		rest, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		got := string(rest)
		if models[i] == "falls_over" && !strings.Contains(got, " attempts=2 ") { // too late for a header
			t.Errorf("got %q, want the number of attempts in a comment", got)
		}
		got = callgateComment.ReplaceAllString(strings.ReplaceAll(got, ping, ""), "")
		if models[i] != "fails" {
			equalBytes(t, models[i]+": streams", got, role+stream(healthyText))
			continue
		}
		last := data(got)
		if e := errorOf(t, last[len(last)-1]); len(last) != 1 || e.code != "upstream_error" || e.typ != "server_error" {
			t.Errorf("got %q, want one error upstream_error and no end marker", got)
		}
	}
	// An answer that is not streamed has no place for a heartbeat.
	equalBytes(t, "whole answers", g.chat(prompt("answers", "hi", false)).body, completion(healthyText))
}

// TestFaultSuiteHeartbeatWithinAnAnswer has an upstream pause in the middle: the
// heartbeat stands between events and never in one.
func TestFaultSuiteHeartbeatWithinAnAnswer(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	var s setup
	s.head.WriteString("heartbeat: 50ms\n")
	text := delta("Hello")
	s.provider("up", newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, text+text[:40])
		select {
		case <-more:
		case <-r.Context().Done():
		}
		send(w, text[40:]+finish+done)
	}).url, "")
	g := serve(t, s.String())
	resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	equalBytes(t, "events", nextBlock(t, r), text)
	for range 2 {
		equalBytes(t, "events", readEvent(t, r), ping)
	}
	close(more)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	equalBytes(t, "streams", strings.ReplaceAll(string(rest), ping, ""), text+finish+done)
}
