package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/conformance"
)

// aReport has a case of each verdict.
func aReport() *conformance.Report {
	r := &conformance.Report{Target: "http://gw/v1", Took: time.Second, Notes: []string{"one stray"}}
	failure := []conformance.Failure{{Exchange: "whole", Faults: []conformance.Fault{{Level: conformance.Core, Text: "status: got 500, want 200"}}, Status: 500, Body: []byte("<b>&\xff")}}
	for _, c := range []struct {
		name    string
		verdict conformance.Verdict
		result  conformance.Result
	}{
		{"a/good", conformance.Passed, conformance.Result{Exchanges: 2}},
		{"a/bad", conformance.Failed, conformance.Result{Exchanges: 1, Failures: failure}},
		{"b/known", conformance.KnownFailed, conformance.Result{Exchanges: 1, Failures: failure}},
		{"b/mended", conformance.KnownPassed, conformance.Result{Exchanges: 1}},
		{"b/none", conformance.Skipped, conformance.Result{Skipped: "the target does not claim http"}},
	} {
		out := &conformance.Outcome{Case: &conformance.Case{Name: c.name, About: "A case.", Rule: "it must hold", Level: conformance.Core, HTTP: []conformance.Step{{}}},
			Result: c.result, Took: time.Millisecond}
		out.Judge(conformance.Own, c.verdict == conformance.KnownFailed || c.verdict == conformance.KnownPassed)
		if out.Verdict != c.verdict {
			panic(c.name + " is " + string(out.Verdict))
		}
		r.Cases = append(r.Cases, out)
	}
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := aReport()
	if got, want := r.Totals(), (conformance.Totals{Passed: 1, Failed: 1, KnownFailed: 1, KnownPassed: 1, Skipped: 1, Exchanges: 5}); got != want {
		t.Errorf("got totals %+v, want %+v", got, want)
	}
	if r.OK() || len(r.Unexpected()) != 2 || len(r.Areas()) != 2 || len(r.Skipped()) != 1 {
		t.Errorf("got %t with %d unexpected outcomes, %d areas, %d reasons; want false, 2, 2, 1", r.OK(), len(r.Unexpected()), len(r.Areas()), len(r.Skipped()))
	}
	if (&conformance.Report{}).OK() {
		t.Error("got a run of no case that is well")
	}
	const summary = "core: 1 of 4 cases passed, 1 failed, 1 known to fail, 1 known to fail that pass, 1 skipped.\n" +
		"strict: 0 of 0 cases passed, 0 failed.\ncallgate: 0 of 0 cases passed, 0 failed.\n5 exchanges in 1.0 s."
	if got := r.Summary(); got != summary {
		t.Errorf("got %q, want %q", got, summary)
	}
}

// TestReportFiles reads reports back.
func TestReportFiles(t *testing.T) {
	t.Parallel()
	r := aReport()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var j struct {
		Suite  string
		OK     bool
		Level  conformance.Level
		Levels []conformance.LevelTotals
		Totals conformance.Totals
		Areas  []conformance.AreaTotals
		Cases  []struct {
			Case, Area, Verdict, Reason string
			Failures                    []struct {
				Faults []conformance.Fault
				Body   string
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if j.Suite != "callgate-conformance/2" || j.Level != conformance.Own || len(j.Levels) != 3 || j.Levels[0].Failed != 1 || len(j.Levels[0].Areas) != 2 ||
		j.Cases[1].Failures[0].Faults[0].Level != conformance.Core || j.OK || j.Totals != r.Totals() || len(j.Areas) != 2 || j.Areas[1].KnownPassed != 1 || len(j.Cases) != 5 ||
		j.Cases[1].Failures[0].Body != "<b>&\uFFFD" || j.Cases[3].Verdict != "known_passing" || j.Cases[4].Reason == "" {
		t.Errorf("got JSON %s", b.String())
	}
	b.Reset()
	if err := r.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var x struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
				Skipped *string `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &x); err != nil {
		t.Fatal(err)
	}
	if x.Tests != 5 || x.Failures != 2 || x.Skipped != 2 || len(x.Suites) != 2 || x.Suites[0].Cases[1].Failure == nil || x.Suites[1].Cases[0].Skipped == nil {
		t.Errorf("got XML %s", b.String())
	}
	b.Reset()
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Level core: 2 of 4\n", "| a | 1 | 1 | 0 | 0 | 3 |\n", "| b | 0 | 1 | 1 | 1 | 2 |\n", "| **all** | 1 | 2 | 1 | 1 | 5 |\n",
		"- 1: the target does not claim http\n", "### a/bad\n", "status: got 500, want 200", "### b/mended\n", "take it off", "Note: one stray.\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got Markdown without %q:\n%s", want, b.String())
		}
	}
}

// TestProbe runs the suite on targets that do not lead to its upstream.
func TestProbe(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), `"none"`) && strings.Contains(r.URL.Path, "/half/"):
			resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			io.Copy(w, resp.Body)
		case strings.Contains(r.URL.Path, "/no/"):
			http.Error(w, "no such model", http.StatusNotFound)
		default:
			io.WriteString(w, `{"choices":[{"message":{"content":"Hello from elsewhere."}}]}`)
		}
	}))
	defer other.Close()
	chat := func(name string) bool { return name == "chat/plain_text" || name == "chat/parser_none" }
	for _, tt := range []struct {
		name, target string
		partial      bool
		want         string
	}{
		{"another upstream", other.URL + "/v1", true, "does not lead to the suite's upstream at " + url},
		{"no such model", other.URL + "/no/v1", true, "status 404: no such model"},
		{"nobody there", "http://127.0.0.1:1/v1", true, "there is no answer"},
		{"one of two", other.URL + "/half/v1", false, "1 of the gateway's models do not lead"},
		{"one of two, partial", other.URL + "/half/v1", true, ""},
	} {
		report, err := conformance.Run(t.Context(), conformance.Target{BaseURL: tt.target}, up, conformance.Options{Match: chat, Partial: tt.partial})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: got %v, want one line with %q", tt.name, err, tt.want)
		}
		if err == nil && (report.Totals().Skipped == 0 || report.Totals().Ran() == 0) {
			t.Errorf("%s: got %+v, want some run and some skipped", tt.name, report.Totals())
		}
	}
}

// TestRunEnds stops a run: what was not run is in no report, and does not fail.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	o := conformance.Options{Match: func(name string) bool { return strings.HasPrefix(name, "chat/") }, Progress: func(*conformance.Outcome) {
		if n++; n == 3 {
			cancel()
		}
	}}
	report, err := conformance.Run(ctx, conformance.Target{BaseURL: url}, up, o)
	if err == nil || report == nil || len(report.Cases) != 3 {
		t.Errorf("got %+v and %v, want a report of 3 cases, and that the run was ended", report, err)
	}
}

// TestLateGateway runs a case on a gateway that leads to the upstream only after a while, as one
// does that was up first and has found the upstream gone, and that wants a header.
func TestLateGateway(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	var asked atomic.Int64
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Project") != "a" || r.Header.Get("X-Other") != "b" {
			http.Error(w, "no project", http.StatusForbidden)
			return
		}
		if asked.Add(1) < 3 {
			http.Error(w, `{"error":{"message":"no upstream","type":"server_error"}}`, http.StatusServiceUnavailable)
			return
		}
		resp, err := http.Post(url+"/chat/completions", "application/json", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
		io.Copy(w, resp.Body)
	}))
	defer gateway.Close()
	target := conformance.Target{BaseURL: gateway.URL + "/v1", Header: http.Header{"x-project": {"a"}, "X-Other": {"b"}}}
	plain := func(name string) bool { return name == "chat/parser_none" }
	if _, err := conformance.Run(t.Context(), target, up, conformance.Options{Match: plain}); err == nil {
		t.Error("got no error of a gateway that is not ready and is not waited for")
	}
	report, err := conformance.Run(t.Context(), target, up, conformance.Options{Match: plain, Wait: time.Minute})
	if err != nil || !report.OK() {
		t.Errorf("got %v and %+v, want a run that is well: the gateway is waited for", err, report)
	}
	target.Header = nil
	if _, err := conformance.Run(t.Context(), target, up, conformance.Options{Match: plain, Wait: time.Minute}); err == nil || !strings.Contains(err.Error(), "no project") {
		t.Errorf("got %v, want what the gateway says of a header that is missing, at once", err)
	}
}

// TestBreakerNote runs cases on a gateway that stops asking its upstream, as one with a circuit
// breaker does: the report says what it looks like.
func TestBreakerNote(t *testing.T) {
	t.Parallel()
	up, url := listen(t)
	var asked atomic.Int64
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) > 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"error":{"message":"the breaker is open","type":"server_error","param":null,"code":null}}`)
			return
		}
		resp, err := http.Post(url+"/chat/completions", "application/json", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	defer gateway.Close()
	report, err := conformance.Run(t.Context(), conformance.Target{BaseURL: gateway.URL + "/v1", Features: []string{conformance.Chat, conformance.Errors}}, up,
		conformance.Options{Match: func(name string) bool { return strings.HasPrefix(name, "errors/upstream_50") }})
	if err != nil || report.OK() || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "circuit breakers") {
		t.Errorf("got %v and notes %q, want one about circuit breakers", err, report.Notes)
	}
}
