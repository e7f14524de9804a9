package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// failing is how an upstream fails before it answers: with a status and a header, which
// may depend on the time, so often.
type failing struct {
	status int
	header map[string]string
	after  func(now time.Time) map[string]string
	times  int
}

// refusing is an upstream that fails and then answers. It notes when it was asked.
type refusing struct {
	failing

	mu    sync.Mutex
	asked []time.Time
}

func (f *refusing) answer(w http.ResponseWriter, r received) {
	now := time.Now()
	f.mu.Lock()
	f.asked = append(f.asked, now)
	n := len(f.asked)
	f.mu.Unlock()
	if n > f.times {
		answerWith(w, r, healthyText)
		return
	}
	header := f.header
	if f.after != nil {
		header = f.after(now)
	}
	for name, value := range header {
		w.Header().Set(name, value)
	}
	w.Header().Set("content-type", mimeJSON)
	w.WriteHeader(f.status)
	fmt.Fprint(w, `{"error":{"message":"not now","type":"x","param":null,"code":null}}`)
}

// gaps are the times between requests.
func (f *refusing) gaps() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(f.asked); i++ {
		out = append(out, f.asked[i].Sub(f.asked[i-1]))
	}
	return out
}

// always is more failures than a test asks for.
const always = 100

// waiting is a row about failures that may be waited for.
type waiting struct {
	name    string
	up      failing
	retries int      // max_retries of the provider
	header  []string // of the client's request
	status  int      // what the client gets in the end
	retry   string   // x-should-retry
	after   string   // retry-after
	gaps    []time.Duration
}

const ms = time.Millisecond

// limits are answers that limit the rate (13), with max_retries 0: they are waited for
// once if they say how long, and if that is not too long.
func limits() []waiting {
	says := func(header ...string) failing {
		f := failing{status: 429, times: always, header: map[string]string{}}
		for i := 0; i < len(header); i += 2 {
			f.header[header[i]] = header[i+1]
		}
		return f
	}
	once := func(f failing) failing {
		f.times = 1
		return f
	}
	in := func(d time.Duration) failing {
		return failing{status: 429, times: 1, after: func(now time.Time) map[string]string {
			return map[string]string{"retry-after": now.Add(d).UTC().Format(http.TimeFormat)}
		}}
	}
	const client = "x-callgate-max-retries"
	return []waiting{
		{name: "seconds", up: once(says("retry-after", "1")), status: 200, gaps: []time.Duration{1000 * ms}},
		{name: "part of a second", up: once(says("retry-after", "0.15")), status: 200, gaps: []time.Duration{150 * ms}},
		{name: "milliseconds", up: once(says("retry-after-ms", "150")), status: 200, gaps: []time.Duration{150 * ms}},
		{name: "Azure's milliseconds", up: once(says("x-ms-retry-after-ms", "150")), status: 200, gaps: []time.Duration{150 * ms}},
		{name: "milliseconds before seconds", up: once(says("retry-after-ms", "150", "retry-after", "50")), status: 200, gaps: []time.Duration{150 * ms}},
		{name: "a date", up: in(5 * time.Second), status: 200, gaps: []time.Duration{3900 * ms}}, // dates have no parts of seconds
		{name: "once and no more", up: says("retry-after-ms", "100"), status: 429, retry: "false", after: "1", gaps: []time.Duration{100 * ms}},
		{name: "a date that is over", up: in(-time.Hour), status: 429, retry: "true"},
		{name: "negative", up: once(says("retry-after", "-5")), status: 429, retry: "true"},
		{name: "zero", up: once(says("retry-after", "0")), status: 429, retry: "true"},
		{name: "none", up: once(says()), status: 429, retry: "true"},
		{name: "not a number", up: once(says("retry-after", "NaN")), status: 429, retry: "true"},
		{name: "infinite", up: once(says("retry-after", "Inf")), status: 429, retry: "true"},
		{name: "words", up: once(says("retry-after", "soon")), status: 429, retry: "true"},
		{name: "a date that is none", up: once(says("retry-after", "Mon, 99 Foo 2026 25:61:61 GMT")), status: 429, retry: "true"},
		{name: "longer than we wait", up: once(says("retry-after", "61")), status: 429, retry: "true", after: "61"},
		{name: "longer than SDKs wait", up: once(says("retry-after", "121")), status: 429, retry: "false", after: "121"},
		{name: "a billion", up: once(says("retry-after", "1000000000")), status: 429, retry: "false", after: "86400"},
		{name: "more than a number holds", up: once(says("retry-after", "1e300")), status: 429, retry: "false", after: "86400"},
		{name: "a billion, with retries", up: once(says("retry-after", "1000000000")), retries: 5, status: 429, retry: "false", after: "86400"},
		{name: "the SDK has tried", up: once(says("retry-after-ms", "100")), header: []string{"x-stainless-retry-count", "1"}, status: 429, retry: "true", after: "1"},
		{name: "503 is not waited for", up: failing{status: 503, times: 1, header: map[string]string{"retry-after-ms": "100"}}, status: 503, retry: "true", after: "1"},
		{name: "the client wants none", up: once(says()), retries: 5, header: []string{client, "0"}, status: 429, retry: "true"},
	}
}

// retries are failures that are tried again, with a base of 20 ms: the waits double,
// less up to a quarter, and what the upstream says comes first.
func retries() []waiting {
	busy := func(times int) failing { return failing{status: 503, times: times} }
	with := func(header string) failing {
		return failing{status: 503, times: 1, header: map[string]string{"retry-after-ms": header}}
	}
	const client, sdk = "x-callgate-max-retries", "x-stainless-retry-count"
	return []waiting{
		{name: "none", up: busy(1), status: 503, retry: "true"},
		{name: "three", up: busy(3), retries: 3, status: 200, gaps: []time.Duration{15 * ms, 30 * ms, 60 * ms}},
		{name: "three are too few", up: busy(always), retries: 3, status: 503, retry: "false", gaps: []time.Duration{15 * ms, 30 * ms, 60 * ms}},
		{name: "no longer than the longest", up: busy(5), retries: 5, status: 200, gaps: []time.Duration{15 * ms, 30 * ms, 60 * ms, 60 * ms, 60 * ms}},
		{name: "what the upstream says comes first", up: with("300"), retries: 1, status: 200, gaps: []time.Duration{300 * ms}},
		{name: "429", up: failing{status: 429, times: 2}, retries: 2, status: 200, gaps: []time.Duration{15 * ms, 30 * ms}},
		{name: "408", up: failing{status: 408, times: 1}, retries: 1, status: 200, gaps: []time.Duration{15 * ms}},
		{name: "409", up: failing{status: 409, times: 1}, retries: 1, status: 200, gaps: []time.Duration{15 * ms}},
		{name: "529", up: failing{status: 529, times: 1}, retries: 1, status: 200, gaps: []time.Duration{15 * ms}},
		{name: "400 is not", up: failing{status: 400, times: 1}, retries: 3, status: 400, retry: "false"},
		{name: "401 is not", up: failing{status: 401, times: 1}, retries: 3, status: 502, retry: "false"},
		{name: "404 is not", up: failing{status: 404, times: 1}, retries: 3, status: 404, retry: "false"},
		{name: "422 is not", up: failing{status: 422, times: 1}, retries: 3, status: 422, retry: "false"},
		{name: "402 is not", up: failing{status: 402, times: 1}, retries: 3, status: 429, retry: "false"},
		{name: "the client wants two", up: busy(2), header: []string{client, "2"}, status: 200, gaps: []time.Duration{15 * ms, 30 * ms}},
		{name: "the client wants fewer", up: busy(3), retries: 3, header: []string{client, "1"}, status: 503, retry: "false", gaps: []time.Duration{15 * ms}},
		{name: "the SDK has tried once", up: busy(always), retries: 2, header: []string{sdk, "1"}, status: 503, retry: "false", gaps: []time.Duration{15 * ms}},
		{name: "the SDK has tried often", up: busy(always), retries: 2, header: []string{sdk, "9"}, status: 503, retry: "true"},
		{name: "a count below none", up: busy(always), retries: 1, header: []string{sdk, "-9"}, status: 503, retry: "false", gaps: []time.Duration{15 * ms}},
		{name: "both", up: busy(always), header: []string{client, "3", sdk, "2"}, status: 503, retry: "false", gaps: []time.Duration{15 * ms}},
	}
}

// TestFaultSuiteRetries measures at the upstream when it is asked again.
func TestFaultSuiteRetries(t *testing.T) {
	t.Parallel()
	for group, rows := range map[string][]waiting{"limits": limits(), "retries": retries()} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream %t", group, stream), func(t *testing.T) {
				t.Parallel()
				ups := make([]*refusing, len(rows))
				var s setup
				for i := range rows {
					ups[i] = &refusing{failing: rows[i].up}
					limit := ""
					if group == "retries" {
						limit = ", max_delay: 80ms"
						if strings.Contains(rows[i].name, "comes first") {
							limit = ""
						}
					}
					s.provider(fmt.Sprintf("up%d", i), newSite(t, ups[i].answer).url, fmt.Sprintf("circuit_breaker: {failure_threshold: 1000}, retry: {max_retries: %d, base_delay: 20ms%s}", rows[i].retries, limit))
				}
				g := serve(t, s.String())
				for i, row := range rows {
					t.Run(row.name, func(t *testing.T) {
						t.Parallel()
						r := g.chat(prompt(fmt.Sprintf("up%d/m", i), "hi", stream), row.header...)
						row.check(t, r, stream, ups[i].gaps())
					})
				}
			})
		}
	}
}

// check compares an answer, and the gaps between the requests.
func (w waiting) check(t *testing.T, r result, stream bool, gaps []time.Duration) {
	t.Helper()
	if w.status == 200 {
		healthyAnswer(t, r, stream)
	} else {
		clean(t, r)
		if r.status != w.status {
			t.Errorf("got status %d %q, want %d", r.status, r.body, w.status)
		}
		hasHeader(t, r.header, map[string]string{"x-should-retry": w.retry, "retry-after": w.after})
	}
	hasHeader(t, r.header, map[string]string{"x-callgate-attempts": fmt.Sprint(1 + len(w.gaps))})
	if len(gaps) != len(w.gaps) {
		t.Fatalf("got %d requests, want %d", 1+len(gaps), 1+len(w.gaps))
	}
	total := time.Duration(0)
	for i := range gaps {
		total += gaps[i]
		if gaps[i] < w.gaps[i] {
			t.Errorf("got gaps %v, want %v or more", gaps, w.gaps)
		}
	}
	var delay int64
	fmt.Sscan(r.header.Get("x-callgate-retry-delay-ms"), &delay)
	// A wait is counted from the failure on; what was done since then is no part of the time that was waited.
	if said := time.Duration(delay) * ms; len(w.gaps) > 0 && (said < w.gaps[0]/2 || said > total+ms) {
		t.Errorf("got x-callgate-retry-delay-ms %d, want the time that was waited, from %v to %v", delay, w.gaps[0]/2, total)
	}
}

// TestFaultSuiteRetryHeader sends numbers of retries that are none.
func TestFaultSuiteRetryHeader(t *testing.T) {
	t.Parallel()
	up := well(t)
	var s setup
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	for _, text := range []string{"-1", "11", "x", "1.5", "99999999999999999999", "1,2"} {
		r := g.chat(prompt("up/m", "hi", false), "x-callgate-max-retries", text)
		failure{status: 400, code: "invalid_request", param: "x-callgate-max-retries", says: "0 to 10"}.check(t, r)
	}
	if n := up.asked.Load(); n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
}

// TestFaultSuiteDeadline has a request whose time is over before its retries are: it
// ends, and does not wait for what would come too late.
func TestFaultSuiteDeadline(t *testing.T) {
	t.Parallel()
	f := &refusing{failing: failing{status: 429, times: always, header: map[string]string{"retry-after": "30"}}}
	var s setup
	s.head.WriteString("timeout: 5s\n")
	s.provider("up", newSite(t, f.answer).url, "retry: {max_retries: 5}, timeouts: {total: 5s}")
	g := serve(t, s.String())
	r := g.chat(prompt("up/m", "hi", true))
	failure{status: 429, code: "upstream_rate_limited", retry: "true"}.check(t, r)
	hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "1", "x-callgate-retry-delay-ms": ""})
	if len(f.gaps()) != 0 {
		t.Errorf("got %d further requests, want an answer at once", len(f.gaps()))
	}
}

// TestFaultSuiteDelayHeaders has a client say how long the waits between attempts are, and sends
// some that are none.
func TestFaultSuiteDelayHeaders(t *testing.T) {
	t.Parallel()
	const base, most = "x-callgate-base-delay", "x-callgate-max-delay"
	busy := newSite(t, (&refusing{failing: failing{status: 503, times: 2}}).answer)
	var s setup
	s.provider("up", busy.url, "retry: {max_retries: 3, base_delay: 30s, max_delay: 60s}")
	g := serve(t, s.String())
	waited := g.chat(prompt("up/m", "hi", false), base, "20ms", most, "30ms")
	if ms, _ := strconv.Atoi(waited.header.Get("x-callgate-retry-delay-ms")); waited.status != 200 || ms == 0 || ms > 20_000 {
		t.Errorf("got status %d after waits of %d ms, want 200, and less than the 30 s of the configuration", waited.status, ms)
	}
	asked := busy.asked.Load()
	for _, row := range []struct{ header, value, says string }{
		{base, "-1s", "1ms to 1m"}, {base, "0", "1ms to 1m"}, {base, "61s", "1ms to 1m"}, {base, "soon", "1ms to 1m"}, {base, "5", "1ms to 1m"},
		{most, "11m", "1ms to 10m"}, {most, "1us", "1ms to 10m"}, {most, "1e9s", "1ms to 10m"},
	} {
		r := g.chat(prompt("up/m", "hi", false), row.header, row.value)
		failure{status: 400, code: "invalid_request", param: row.header, says: row.says}.check(t, r)
	}
	r := g.chat(prompt("up/m", "hi", false), base, "2s", most, "1s")
	failure{status: 400, code: "invalid_request", param: most, says: "must not be less than"}.check(t, r)
	if n := busy.asked.Load() - asked; n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
}
