package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/callgate/callgate/conformance"
)

// serve starts a plain proxy in front of the suite's upstream.
func serve(t *testing.T) (conformance.Target, *conformance.Upstream) {
	t.Helper()
	up := conformance.NewUpstream()
	base, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	to, err := url.Parse(strings.TrimSuffix(base, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(passOn(to, log.New(io.Discard, "", 0)))
	t.Cleanup(server.Close)
	return conformance.Target{BaseURL: server.URL + "/v1"}, up
}

// fewer leaves most of the forms out, which the proxy fails all alike, and the cases that
// it lets wait for a body.
func fewer(name string) bool {
	if strings.HasPrefix(name, "input/length_") {
		return false
	}
	dir, _, _ := strings.Cut(strings.TrimPrefix(name, "formats/"), "/")
	return !strings.HasPrefix(name, "formats/") || dir == "hermes" || dir == "harmony"
}

var update = flag.Bool("update", false, "write counts.txt anew")

// counts are how many cases of each level and area passed, a line each.
func counts(report *conformance.Report) []byte {
	var out bytes.Buffer
	for _, l := range report.Levels() {
		for _, a := range append(l.Areas, conformance.AreaTotals{Area: "all", Totals: l.Totals}) {
			fmt.Fprintf(&out, "%s %s: %d of %d\n", l.Level, a.Area, a.Passed, a.Ran())
		}
	}
	return out.Bytes()
}

// again runs the suite on another proxy, one case after the other, and says what came out
// otherwise. What a gateway of the standard library does with a request at fault, or with
// a connection that is closed on it, is in some cases a race of its own goroutines.
func again(t *testing.T, o conformance.Options, first *conformance.Report) *conformance.Report {
	t.Helper()
	o.Parallel = 1
	target, up := serve(t)
	report, err := conformance.Run(t.Context(), target, up, o)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]*conformance.Outcome{}
	for _, out := range first.Cases {
		before[out.Case.Name] = out
	}
	for _, out := range report.Cases {
		then := before[out.Case.Name]
		for _, l := range conformance.Levels() {
			if out.At(l) != then.At(l) {
				t.Logf("%s: at %s got %s %s, and then %s %s", out.Case.Name, l, then.At(l), then.Details(), out.At(l), out.Details())
			}
		}
	}
	return report
}

// TestPlainProxy runs the suite on a proxy that changes nothing. What a gateway has to do
// must fail, and what it must leave alone must pass: else the suite sees nothing, or
// something that is not there.
func TestPlainProxy(t *testing.T) {
	t.Parallel()
	target, up := serve(t)
	o := conformance.Options{Match: fewer, Parallel: 4}
	report, err := conformance.Run(t.Context(), target, up, o)
	if err != nil {
		t.Fatal(err)
	}
	if report.OK() {
		t.Error("got a run that is well")
	}
	if *update {
		if err := os.WriteFile("counts.txt", counts(report), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("counts.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(counts(report), want) {
		report = again(t, o, report)
	}
	if d := diff.Diff("counts.txt", want, "counted", counts(report)); d != nil {
		t.Errorf("what a proxy that does nothing passes has changed; read it, and go test -update:\n%s", d)
	}
	verdicts := map[string]*conformance.Outcome{}
	for _, out := range report.Cases {
		verdicts[out.Case.Name] = out
		if out.Case.Has(conformance.Bytes) && out.Verdict != conformance.Passed {
			t.Errorf("%s: got %s from a proxy that changes no byte: %s", out.Case.Name, out.Verdict, out.Details())
		}
	}
	for name, says := range map[string]string{
		"tools/hermes_one_call":          "got 0 tool calls, want 1",
		"json/key_twice":                 "the upstream was asked, though the request is at fault",
		"errors/upstream_401":            "status: got 401, want 502",
		"retry/refused":                  `header x-should-retry: got "", want false`,
		"http/length_and_chunked":        "answer 2: got status 200, want closed",
		"http/chunked_and_length_hidden": "the upstream was asked",
		"input/body_large":               "status",
		"request/header_cookie":          "upstream's header cookie",
		"errors/own_type":                `error body.error.param: got null, want "model"`,
		"sse/done_missing":               "the stream ends without [DONE]",
		"errors/cut_stream_none":         "the stream",
		"native/history_python":          "upstream's request.messages[1]",
		"response/header_cookie":         "header set-cookie",
		"request/header_request_id_made": "header x-request-id",
		"input/stream_string":            "the upstream was asked, though the request is at fault",
		"errors/upstream_400_text":       "content type",
		"symptoms/06_markers_leak":       "content: got",
		"native/finish_stop":             "finish_reason",
		"reasoning/before_call":          "reasoning",
		"stream/missing_done_after_call": "[DONE]",
		"formats/hermes/two_calls":       "tool calls",
	} {
		out := verdicts[name]
		switch {
		case out == nil:
			t.Errorf("got no case %s", name)
		case out.Verdict != conformance.Failed || !strings.Contains(out.Details(), says):
			t.Errorf("%s: got %s %q, want a failure with %q", name, out.Verdict, out.Details(), says)
		}
	}
}

// TestKnownFailing runs some cases again with a list of what fails, and with a list that
// says too much.
func TestKnownFailing(t *testing.T) {
	t.Parallel()
	target, up := serve(t)
	o := conformance.Options{Parallel: 2, Match: func(name string) bool {
		return strings.HasPrefix(name, "chat/") || strings.HasPrefix(name, "reasoning/")
	}}
	report, err := conformance.Run(t.Context(), target, up, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range report.Unexpected() {
		o.Known = append(o.Known, out.Case.Name)
	}
	if len(o.Known) == 0 {
		t.Fatal("got no failure")
	}
	if report, err = conformance.Run(t.Context(), target, up, o); err != nil || !report.OK() || report.Totals().KnownFailed != len(o.Known) {
		t.Errorf("got %+v (%v), want a run that is well, with %d known failures", report.Totals(), err, len(o.Known))
	}
	o.Known = append(o.Known, "chat/plain_text")
	if report, err = conformance.Run(t.Context(), target, up, o); err != nil || report.OK() || report.Totals().KnownPassed != 1 {
		t.Errorf("got %+v (%v), want a run that fails for one known failure that passes", report.Totals(), err)
	}
	o.Known = append(o.Known, "chat/no_such_case")
	if _, err = conformance.Run(t.Context(), target, up, o); err == nil || !strings.Contains(err.Error(), "chat/no_such_case") {
		t.Errorf("got %v, want an error that names a case that is not there", err)
	}
}
