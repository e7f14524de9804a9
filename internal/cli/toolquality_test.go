package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/internal/redistest"
)

// judged is a gateway whose clock of scores is the test's, before two upstreams that call tools.
type judged struct {
	*gate
	at    *atomic.Int64 // seconds
	asked int
}

const weatherTools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`

// oddTools are of a tool whose schema no call fits.
var oddTools = strings.NewReplacer("get_weather", "delete_task", `"city":{"type":"string"}`, `"city":{"type":"string","enum":[]}`).Replace(weatherTools)

// caller is an upstream whose every call is right, or wrong.
type caller struct {
	wrong atomic.Bool
	// status answers every second request in the place of a call, if it is not 0.
	status atomic.Int64
	n      atomic.Int64
}

func (c *caller) answer(w http.ResponseWriter, r received) {
	n := c.n.Add(1)
	if status := int(c.status.Load()); status != 0 && n%2 == 0 {
		w.WriteHeader(status)
		return
	}
	if c.wrong.Load() {
		answerCall(w, r, `{"town":"Oslo"}`)
		return
	}
	answerCall(w, r, `{"city":"Oslo"}`)
}

// judge starts a gateway before two callers, a and b, with the keys of their route, and of what else
// is in the file.
func judge(t *testing.T, head, route string, weight string) (*judged, [2]*caller) {
	t.Helper()
	return judgeAt(t, new(atomic.Int64), head, route, weight, [2]*caller{})
}

func judgeAt(t *testing.T, at *atomic.Int64, head, route, weight string, callers [2]*caller) (*judged, [2]*caller) {
	t.Helper()
	var s setup
	s.head.WriteString(head)
	for i, name := range []string{"a", "b"} {
		if callers[i] == nil {
			callers[i] = &caller{}
		}
		s.provider(name, newSite(t, callers[i].answer).url, "retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1000}")
	}
	fmt.Fprintf(&s.models, "  m: {%s, targets: [{provider: a, model: up%s}, {provider: b, model: up%[2]s}]}\n", route, weight)
	at.CompareAndSwap(0, 1_800_000_000)
	clock := func() time.Time { return time.Unix(at.Load(), 0) }
	j := &judged{at: at, gate: launchIn(t, context.WithValue(t.Context(), clockKey{}, clock), strings.Replace(s.String(), "level: error", "level: info", 1))}
	j.await()
	return j, callers
}

// ask sends a request with messages and tools, whole or streamed, and a second passes. It returns who
// has answered.
func (j *judged) ask(messages, tools string) (provider string, r result) {
	j.t.Helper()
	j.asked++
	r = j.chat(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[%s],%s}`, j.asked%2 == 0, messages, tools))
	j.at.Add(1)
	return r.header.Get("x-callgate-provider"), r
}

// first is what the user of a new conversation says. It is long enough for caches.
func (j *judged) first() string {
	return fmt.Sprintf(`{"role":"user","content":"%d: what is the weather in Oslo? %s"}`, j.asked, strings.Repeat("Say it kindly. ", 200))
}

// second goes on with a conversation.
func second(first string) string {
	return first + `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]},` +
		`{"role":"tool","tool_call_id":"call_0","content":"rain"},{"role":"user","content":"And in Rome?"}`
}

func (j *judged) snapshot() (s quality.Snapshot) {
	j.t.Helper()
	r := j.adminDo("GET", "/admin/quality")
	if err := json.Unmarshal([]byte(r.body), &s); err != nil {
		j.t.Fatalf("got %q: %v", r.body, err)
	}
	return s
}

// share is what the b of the route m gets, and score that of a target.
func (j *judged) share() float64 {
	j.t.Helper()
	return j.snapshot().Routes[0].Arms[1].Share
}

func (j *judged) score(provider string) quality.TargetScore {
	j.t.Helper()
	for _, t := range j.snapshot().Targets {
		if t.Provider == provider {
			return t
		}
	}
	return quality.TargetScore{}
}

// TestQualityMovesNewConversations: of two upstreams, of which one calls wrong, that one loses new
// conversations, in steps, and keeps those that it has; repaired it gets them back.
func TestQualityMovesNewConversations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, route, weight string }{
		"weights": {"", "quality: weight", ", weight: 1"},
		"caches":  {"cache_salt: pepper\n", "quality: weight, routing: prefix", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, callers := judge(t, c.head, c.route, c.weight)
			callers[1].wrong.Store(true)
			var running []string // conversations that b has
			share, steps, moved := .5, 0, 0
			asked := map[string]int{}
			for range 460 {
				first := j.first()
				provider, r := j.ask(first, weatherTools)
				if r.status != http.StatusOK {
					t.Fatalf("status %d: %s", r.status, r.body)
				}
				asked[provider]++
				if provider == "b" && len(running) < 10 {
					running = append(running, first)
				}
				if strings.Contains(r.header.Get("x-callgate-route"), ";passed_over=b/up") {
					moved++
				}
				if now := j.share(); now != share {
					steps++
					if share-now > .1001 {
						t.Fatalf("a step from %v to %v, want 10 points at most", share, now)
					}
					share = now
				}
			}
			t.Logf("asked %v, %d steps to %v, %d moved", asked, steps, share, moved)
			if share != .05 || steps < 5 || moved == 0 || len(running) < 10 {
				t.Errorf("b has %v after %d steps, %d conversations were moved; want .05 after 5, and some", share, steps, moved)
			}
			for _, first := range running {
				if provider, r := j.ask(second(first), weatherTools); provider != "b" || strings.Contains(r.header.Get("x-callgate-route"), "passed") {
					t.Errorf("a conversation under way was moved to %s (%s)", provider, r.header.Get("x-callgate-route"))
				}
			}
			later := map[string]int{}
			for range 200 {
				provider, _ := j.ask(j.first(), weatherTools)
				later[provider]++
			}
			if later["b"] > 40 || later["b"] == 0 {
				t.Errorf("new conversations go to %v, want some 10 of 200 to b", later)
			}
			for _, line := range []string{"tool call quality: an arm is left slowly", "tool call quality: share changed", `"target":"b/up"`} {
				if !strings.Contains(j.stderr.String(), line) {
					t.Errorf("no line %q in the log", line)
				}
			}
			metrics := j.adminDo("GET", "/metrics").body
			for _, series := range []string{`callgate_quality_share{model="up",parser="native",provider="b",route="m"} 0.05`,
				`callgate_quality_weight_factor{model="up",parser="native",provider="b",route="m"} 0.1`, `callgate_quality_score{model="up",parser="native",provider="b"} 0`,
				`callgate_quality_score{model="up",parser="native",provider="a"} 1`, "callgate_quality_blamed_tools 0"} {
				if !strings.Contains(metrics, series) {
					t.Errorf("no %s in the metrics", series)
				}
			}
			if page := j.adminDo("GET", "/ui/quality"); page.status != http.StatusOK || !strings.Contains(page.body, "gets fewer") || !strings.Contains(page.body, "b/up") {
				t.Errorf("the page says %s", page.body)
			}
			callers[1].wrong.Store(false)
			for range 220 {
				j.ask(second(running[0]), weatherTools)
			}
			for range 400 {
				j.ask(j.first(), weatherTools)
			}
			if share := j.share(); share != .5 {
				t.Errorf("the mended b has %v, want its half", share)
			}
		})
	}
}

// TestQualityReport: by default nothing is moved, and the log says what would be.
func TestQualityReport(t *testing.T) {
	t.Parallel()
	j, callers := judge(t, "", "guard: report", ", weight: 1")
	callers[1].wrong.Store(true)
	for range 300 {
		j.ask(j.first(), weatherTools)
	}
	asked := map[string]int{}
	for range 100 {
		provider, r := j.ask(j.first(), weatherTools)
		asked[provider]++
		if strings.Contains(r.header.Get("x-callgate-route"), "passed") {
			t.Fatal("a conversation was moved")
		}
	}
	if asked["b"] < 25 || j.share() > .3 || !strings.Contains(j.stderr.String(), "tool call quality (report only)") {
		t.Errorf("b was asked %d times of 100, and would have %v", asked["b"], j.share())
	}
}

// TestQualityBlamesTheSchema: a tool whose calls fail everywhere is named, and costs nobody anything.
func TestQualityBlamesTheSchema(t *testing.T) {
	t.Parallel()
	j, _ := judge(t, "", "quality: weight", ", weight: 1")
	for range 150 {
		j.ask(j.first(), oddTools)
		j.ask(j.first(), weatherTools)
	}
	s := j.snapshot()
	if tool := s.Tools[0]; tool.Tool != "delete_task" || tool.Blamed.IsZero() || tool.Score.Score != 0 || len(tool.Targets) != 2 {
		t.Errorf("got %+v", tool)
	}
	for _, target := range s.Targets {
		if target.Score.Score != 1 || target.Results["invalid"] == 0 {
			t.Errorf("got %+v", target)
		}
	}
	if got := j.share(); got != .5 {
		t.Errorf("b has %v, want its half", got)
	}
	if n := strings.Count(j.stderr.String(), "the schema of a tool is to blame"); n != 1 || !strings.Contains(j.stderr.String(), `"tool":"delete_task"`) {
		t.Errorf("%d lines in the log", n)
	}
	if page := j.adminDo("GET", "/ui/quality").body; !strings.Contains(page, "its schema") {
		t.Errorf("the page does not say so: %s", page)
	}
}

// TestQualityExcuses: what is not the model's fault changes nothing: 429, 500, an answer that is cut, one
// without a call.
func TestQualityExcuses(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		j, callers := judge(t, "", "quality: weight", ", weight: 1")
		callers[1].status.Store(int64(status))
		for range 300 {
			if _, r := j.ask(j.first(), weatherTools); r.status != http.StatusOK {
				t.Fatalf("status %d: %s", r.status, r.body)
			}
		}
		a, b := j.score("a"), j.score("b")
		if a.Score.Score != 1 || b.Score.Score != 1 || b.NotScored["upstream"] == 0 || j.share() != .5 {
			t.Errorf("%d: got %+v and %+v, and a share of %v", status, a, b, j.share())
		}
	}
	cut := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", mimeJSON)
		answer := nativeAnswer(false, `{"ci`)
		if strings.Contains(r.body, "nothing") {
			answer = completion("It rains.")
		}
		send(w, strings.Replace(answer, `"finish_reason":"tool_calls"`, `"finish_reason":"length"`, 1))
	})
	var s setup
	s.provider("p", cut.url, "")
	s.model("m", "p")
	g := serve(t, s.String())
	for _, text := range []string{"cut", "nothing"} {
		g.chat(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}],%s}`, text, weatherTools))
	}
	g.chat(`{"model":"m","messages":[{"role":"user","content":"no tools"}]}`)
	j := &judged{gate: g}
	if got := j.score("p"); got.Turns != 0 || got.NotScored["cut"] != 1 || got.NotScored["no_call"] != 1 || len(got.NotScored) != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestQualityOfAttempts: every attempt counts for its own target: one that another target has rescued,
// and one that the model made good when it was asked again.
func TestQualityOfAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys   string
		first  []string // what the calls of a say, one after the other
		result string   // of a's turn
		rescue bool
	}{
		"rescued":                {"on_invalid_call: reject", []string{`{"town":"Oslo"}`}, "invalid", true},
		"asked again":            {"on_invalid_call: reask", []string{`{"town":"Oslo"}`, `{"city":"Oslo"}`}, "corrected", false},
		"again in vain":          {"on_invalid_call: reask", []string{`{"town":"Oslo"}`, `{"town":"Oslo"}`}, "invalid", true},
		"no JSON":                {"on_invalid_call: reject", []string{`{"city": Oslo, what`}, "unparseable", true},
		"repaired":               {"", []string{`{'city': 'Oslo'}`}, "repaired", false},
		"passed as it is":        {"on_invalid_call: pass", []string{`{"town":"Oslo"}`}, "invalid", false},
		"reported as it is":      {"tool_calls: report", []string{`{"town":"Oslo"}`}, "invalid", false},
		"clean":                  {"", []string{`{"city":"Oslo"}`}, "clean", false},
		"a tool of its own":      {"on_invalid_call: reject", []string{`unknown`}, "unknown_tool", true},
		"claims that it has":     {"", []string{`ghost`}, "ghost", false},
		"a call that is refused": {"on_invalid_call: pass", []string{`unknown`}, "unknown_tool", false},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %t", name, streamed), func(t *testing.T) {
				t.Parallel()
				n := 0
				a := newSite(t, func(w http.ResponseWriter, r received) {
					args := c.first[min(n, len(c.first)-1)]
					n++
					switch args {
					case "ghost":
						answerWith(w, r, "Done! I've deleted the task Groceries.")
						return
					case "unknown":
						w.Header().Set("content-type", events)
						if !streamed {
							w.Header().Set("content-type", mimeJSON)
						}
						send(w, strings.ReplaceAll(nativeAnswer(streamed, `{"city":"Oslo"}`), "get_weather", "launch_rocket"))
						return
					}
					answerCall(w, r, args)
				})
				b := newSite(t, func(w http.ResponseWriter, r received) { answerCall(w, r, `{"city":"Oslo"}`) })
				tools, ask := weatherTools, "What is the weather in Oslo?"
				if c.first[0] == "ghost" {
					tools, ask = strings.ReplaceAll(weatherTools, "get_weather", "delete_task"), "Delete the task Groceries."
				}
				var s setup
				s.head.WriteString("defaults: {fallback_on: [invalid_calls]}\n")
				s.provider("a", a.url, c.keys)
				s.provider("b", b.url, "")
				s.model("m", "a", "b")
				j := &judged{gate: serve(t, s.String())}
				r := j.chat(fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"user","content":%q}],%s}`, streamed, ask, tools))
				if r.status != http.StatusOK {
					t.Fatalf("status %d: %s", r.status, r.body)
				}
				await(t, "the turn", func() bool { return j.score("a").Turns == 1 })
				got := j.score("a")
				if len(got.Results) != 1 || got.Results[c.result] != 1 {
					t.Errorf("got %+v of a, want one that is %s", got, c.result)
				}
				if got := j.score("b"); c.rescue != (got.Results["clean"] == 1) || !c.rescue && got.Turns != 0 {
					t.Errorf("got %+v of b", got)
				}
			})
		}
	}
}

// TestQualityOfLoops: the same call once more in a conversation that goes in circles counts as nothing.
func TestQualityOfLoops(t *testing.T) {
	t.Parallel()
	j, _ := judge(t, "", "quality: report", ", weight: 1")
	messages := j.first()
	for i := range 5 {
		messages += fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]},`+
			`{"role":"tool","tool_call_id":"call_%[1]d","content":"It rains in Oslo, as it has all day, and it will not stop before the evening."}`, i+10)
	}
	provider, r := j.ask(messages, weatherTools)
	if got := j.score(provider); got.Results["loop"] != 1 {
		t.Errorf("got %+v, want a loop; warnings %s", got, r.header.Get("x-callgate-warnings"))
	}
}

// TestQualityOff counts nothing.
func TestQualityOff(t *testing.T) {
	t.Parallel()
	j, _ := judge(t, "", "quality: off", ", weight: 1")
	j.ask(j.first(), weatherTools)
	if s := j.snapshot(); len(s.Targets)+len(s.Routes)+len(s.Tools) != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestQualityInARollout: an arm of a rollout has its targets, whatever the route's are worth, and its
// calls are counted.
func TestQualityInARollout(t *testing.T) {
	t.Parallel()
	other := &caller{}
	url := newSite(t, other.answer).url
	const head = "rollouts: [{name: r, arms: [{name: control, weight: 0}, {name: next, weight: 100, override: {targets: [{provider: c, model: up}]}}]}]\n"
	var s setup
	s.head.WriteString(head)
	bad := &caller{}
	bad.wrong.Store(true)
	s.provider("a", newSite(t, bad.answer).url, "")
	s.provider("b", newSite(t, bad.answer).url, "")
	s.provider("c", url, "")
	s.models.WriteString("  m: {quality: weight, targets: [{provider: a, model: up, weight: 1}, {provider: b, model: up, weight: 1}]}\n")
	j := &judged{gate: serve(t, s.String()), at: new(atomic.Int64)}
	for range 6 {
		if provider, r := j.ask(j.first(), weatherTools); provider != "c" {
			t.Fatalf("got an answer of %q: %d %s", provider, r.status, r.body)
		}
	}
	await(t, "the turns", func() bool { return j.score("c").Results["clean"] == 6 })
}

// TestQualityShared: what one gateway counts another acts upon.
func TestQualityShared(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	head := fmt.Sprintf("cache_salt: pepper\nredis: {url: %q, key_prefix: %s, interval: 100ms}\n", server.URL(), server.KeyPrefix())
	at := new(atomic.Int64)
	one, callers := judgeAt(t, at, head, "quality: weight", ", weight: 1", [2]*caller{})
	two, _ := judgeAt(t, at, head, "quality: weight", ", weight: 1", callers)
	callers[1].wrong.Store(true)
	for range 300 {
		one.ask(one.first(), weatherTools)
	}
	await(t, "the counts of the other", func() bool {
		at.Add(10)
		b := two.score("b")
		return b.Turns >= 100 && b.Score.Score == 0 && two.score("a").Turns >= 100
	})
	for range 8 { // evaluations, in requests that tell nothing
		at.Add(40)
		two.chat(fmt.Sprintf(`{"model":"m","messages":[%s],%s}`, two.first(), weatherTools))
	}
	if got := two.share(); got != .05 {
		t.Errorf("b has %v at the gateway that was not asked, want the floor", got)
	}
	if s := two.snapshot().Share; s == nil || !s.Up || s.Received == 0 {
		t.Errorf("got %+v", s)
	}
}
