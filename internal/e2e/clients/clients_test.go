package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// play is one scenario with one client in one mode.
type play struct {
	scenario
	job     job
	verdict verdict
}

// TestClients plays each scenario with each client in each of its modes.
func TestClients(t *testing.T) {
	t.Parallel()
	tools, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	c, all := newConfig(), clients(t)
	plays := map[string][]play{}
	for _, cl := range all {
		for _, s := range scenarios() {
			for _, mode := range cl.modes {
				if s.streams && mode == whole {
					continue
				}
				name := s.name + "/" + mode
				model := strings.NewReplacer(" ", "-", "/", "-").Replace(cl.name + "/" + name)
				j := newJob(name, model, mode, tools)
				if s.shape != nil {
					s.shape(t, &j)
				}
				plays[cl.name] = append(plays[cl.name], play{s, j, s.serve(t, c, model)})
			}
		}
	}
	g := serve(t, c)
	for _, cl := range all {
		t.Run(cl.name, func(t *testing.T) {
			t.Parallel()
			run(t, g, cl, plays[cl.name])
		})
	}
}

func newJob(name, model, mode string, tools json.RawMessage) job {
	j := job{
		Name: name, Model: model, Mode: mode, Tools: tools, Results: map[string]string{}, Then: []string{},
		Messages: []message{{"system", "You book tables."}, {"user", scripted.Prompt}},
	}
	for _, tool := range []string{"get_weather", "get_time", "book"} {
		j.Results[tool] = scripted.Result(tool)
	}
	return j
}

// run plays all with one client and checks what it got.
func run(t *testing.T, g *gate.Gate, cl client, plays []play) {
	t.Helper()
	jobs := make([]job, len(plays))
	for i, p := range plays {
		jobs[i] = p.job
		jobs[i].BaseURL = g.URL + "/v1"
	}
	got := map[string][]turn{}
	var ids []string
	for _, one := range cl.play(t, jobs) {
		got[one.Job] = append(got[one.Job], one)
		id := one.RequestID
		if one.Error != nil {
			id = one.Error.RequestID
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, p := range plays {
		t.Run(p.job.Name, func(t *testing.T) {
			compare(t, cl, p, got[p.job.Name])
			p.verdict(t, cl)
			if t.Failed() {
				t.Logf("the gateway's log:\n%s", g.Lines(t, fmt.Sprintf(`"model":%q`, p.job.Model)))
			}
		})
	}
	t.Run("request ids", func(t *testing.T) { awaitLog(t, g, ids) })
	t.Run("requests", func(t *testing.T) { awaitRequests(t, g, requestsOf(cl, plays)) })
}

// requestsOf is how often each model is asked: once for each turn, and again only where
// the SDK is to repeat the request.
func requestsOf(cl client, plays []play) map[string]int {
	requests := map[string]int{}
	for _, p := range plays {
		requests[p.job.Model] = len(p.want)
		last := p.want[len(p.want)-1].Error
		if p.retried || cl.repeats != nil && last != nil && cl.repeats(last.Status) {
			requests[p.job.Model] += cl.retries
		}
	}
	return requests
}

// compare checks the turns of one play.
func compare(t *testing.T, cl client, p play, got []turn) {
	t.Helper()
	ids := map[string]bool{}
	for i := range max(len(got), len(p.want)) {
		switch {
		case i >= len(got):
			t.Errorf("turn %d: got nothing, want %s", i+1, show(p.want[i]))
		case got[i].Error != nil:
			compareError(t, cl, got[i].Error, p.want[min(i, len(p.want)-1)].Error)
		case i >= len(p.want):
			t.Errorf("turn %d: got %s, want nothing more", i+1, show(got[i]))
		default:
			compareTurn(t, cl, p, got[i], p.want[i])
		}
		if i < len(got) {
			uniqueIDs(t, ids, got[i].Calls)
		}
	}
}

// compareTurn compares all but what is different in every run.
func compareTurn(t *testing.T, cl client, p play, got, want turn) {
	t.Helper()
	if shows := cl.answerIDs && p.job.Mode != helper; shows && got.RequestID == "" {
		t.Errorf("got no request id in %s", show(got))
	}
	if u := got.Usage; u == nil || u.Prompt <= 0 || u.Total != u.Prompt+u.Completion {
		t.Errorf("got the usage %s, want one that adds up", show(u))
	}
	like := turn{Content: got.Content, Finish: got.Finish, Usage: got.Usage}
	for _, c := range got.Calls {
		like.Calls = append(like.Calls, call{Name: c.Name, Arguments: c.Arguments})
	}
	if want.Usage == nil {
		like.Usage = nil
	}
	if !reflect.DeepEqual(like, want) {
		t.Errorf("got %s\nwant %s", show(like), show(want))
	}
}

func compareError(t *testing.T, cl client, got, want *failure) {
	t.Helper()
	if want == nil {
		t.Errorf("got the error %s, want none", show(got))
		return
	}
	code := got.Code == want.Code || want.Code == "" // what an upstream says, each SDK shows in its own way
	api := got.API || want.Status == 0 && !cl.streamErrors
	if !api || got.Status != want.Status || !code || !strings.Contains(got.Message, want.Message) {
		t.Errorf("got the error %s, want one of the SDK's own with %s", show(got), show(want))
	}
	// An error in a stream has no header of its own.
	if want.Status != 0 && cl.errorIDs && got.RequestID == "" {
		t.Errorf("got the error %s, want it to have a request id", show(got))
	}
}

// uniqueIDs notes the ids of a turn's calls. An app that keeps results by id needs
// one for each call of a conversation.
func uniqueIDs(t *testing.T, ids map[string]bool, calls []call) {
	t.Helper()
	for _, c := range calls {
		if c.ID == "" || ids[c.ID] {
			t.Errorf("got the id %q for a call of %s, want one that no other call has", c.ID, c.Name)
		}
		ids[c.ID] = true
	}
}

func show(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // the tests' own types can be encoded
	}
	return strings.TrimSpace(b.String())
}
