package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"github.com/callgate/callgate/internal/redistest"
)

// inFlight is the metric by which pods are scaled.
const inFlight = "callgate_requests_in_flight"

// exposed are metrics with the names of their labels.
type exposed map[string]map[string]bool

// scrape reads the text that Prometheus gets.
func (e exposed) scrape(t *testing.T, text io.Reader) {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, family := range families {
		names := []string{name}
		if family.GetType().String() == "HISTOGRAM" {
			names = []string{name + "_bucket", name + "_sum", name + "_count"}
		}
		for _, n := range names {
			if e[n] == nil {
				e[n] = map[string]bool{}
			}
			for _, m := range family.GetMetric() {
				for _, l := range m.GetLabel() {
					e[n][l.GetName()] = true
				}
			}
			if strings.HasSuffix(n, "_bucket") {
				e[n]["le"] = true
			}
		}
	}
}

// seldom are metrics that need a fault which the traffic of these tests does not have. What is said
// of them is held against gateway/metrics/testdata/scrape.txt, which the metrics' own test writes.
var seldom = []string{"callgate_plugin_failures_total", "callgate_tool_server_errors_total", "callgate_share_up", "callgate_prompt_cost_total",
	"callgate_prompt_list_cost_total"}

// mixed is what a gateway exposes after traffic of all kinds, and what it may expose.
func mixed(t *testing.T) (real, golden exposed) {
	t.Helper()
	redis := redistest.Start(t)
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }))
	t.Cleanup(failing.Close)
	notes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"notes": []}`) }))
	t.Cleanup(notes.Close)
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"I have sent the mail."},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}`)
	}))
	t.Cleanup(counting.Close)
	file := writeFile(t, "callgate.yaml", fmt.Sprintf(`
cache_salt: pepper
redis: {url: %q, key_prefix: %q}
defaults: {guard: report}
assume_price: {input: 1, output: 1}
key_limits: [{usd: 1000000, per: month}]
providers:
  demo: {type: demo}
  broken: {type: openai, base_url: "%s/v1", retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 2}}
  counting: {type: openai, base_url: "%s/v1"}
models:
  kept: {answer_cache: redis, targets: [{provider: counting, model: m}]}
  broken: {targets: [{provider: broken, model: m}]}
  both: {targets: [{provider: broken, model: m}, {provider: counting, model: m}]}
tool_servers:
  notes: {type: http, requests: [{name: list, description: Lists notes., parameters: {type: object}, url: "%s/notes"}]}
`, redis.URL(), redis.KeyPrefix(), failing.URL, counting.URL, notes.URL))
	g := serve(t, file)
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},{"type":"function","function":{"name":"send_mail","parameters":{"type":"object"}}}]`
	for _, model := range []string{"demo/hermes", "demo/llama", "demo/none", "kept", "kept", "broken", "broken", "broken", "both", "both", "nobody"} {
		for _, stream := range []string{"true", "false"} {
			g.post("/v1/chat/completions", "", fmt.Sprintf(`{"model":%q,"stream":%s,"temperature":0,"messages":[{"role":"user","content":"Send a mail about the weather in Oslo."}],%s}`, model, stream, tools))
		}
	}
	// What a model writes that calls badly.
	for _, text := range []string{"<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Oslo',}}\n</tool_call>", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": ", "<tool_call>\n{\"name\": \"get_wether\", \"arguments\": {\"town\": 1}}\n</tool_call>"} {
		quoted, _ := json.Marshal(text)
		g.post("/v1/chat/completions", "", fmt.Sprintf(`{"model":"demo/echo","messages":[{"role":"user","content":%s}],%s}`, quoted, tools))
	}
	g.post("/v1/responses", "", `{"model":"demo/hermes","input":"What is the weather in Oslo?"}`)
	status, _, text := g.ask(http.MethodGet, g.admin+"/metrics", "", nil)
	if status != http.StatusOK {
		t.Fatalf("got status %d and %s", status, text)
	}
	real, golden = exposed{}, exposed{}
	real.scrape(t, strings.NewReader(text))
	known, err := os.Open("../../gateway/metrics/testdata/scrape.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	golden.scrape(t, known)
	return real, golden
}

// query is an expression, and where it stands.
type query struct{ at, text string }

// rules are those of deploy/prometheus, and the names of what they record.
func rules(t *testing.T) (list []query, records exposed) {
	t.Helper()
	text, err := os.ReadFile("../prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Record      string            `json:"record"`
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	records, names := exposed{}, map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			name := r.Record + r.Alert
			if names[name] || name == "" {
				t.Errorf("%s: there are two rules of that name", name)
			}
			names[name] = true
			list = append(list, query{name, r.Expr})
			if r.Record != "" {
				records[r.Record] = map[string]bool{"le": false, "provider": true, "model": true, "code": true}
				continue
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: a severity, a summary and a description are wanted", name)
			}
			for _, l := range labelsOf(r.Annotations["summary"] + r.Annotations["description"]) {
				if out := results(t, r.Expr); out != nil && !slices.Contains(out, l) {
					t.Errorf("%s: the text names the label %s, which the result %v has not", name, l, out)
				}
			}
		}
	}
	return list, records
}

var labelInText = regexp.MustCompile(`\$labels\.(\w+)`)

func labelsOf(text string) (out []string) {
	for _, m := range labelInText.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func parse(t *testing.T, text string) (parser.Expr, error) {
	t.Helper()
	return parser.NewParser(parser.Options{}).ParseExpr(text)
}

// results are the labels that an expression's outermost sums leave; nil where it has none.
func results(t *testing.T, text string) (out []string) {
	t.Helper()
	expr, err := parse(t, text)
	if err != nil {
		return nil // said elsewhere
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok && !a.Without {
			out = append(slices.Clone(a.Grouping), "")
		}
		return nil
	})
	return out
}

// dashboard are the queries of the dashboard, with its variables as Grafana fills them in.
func dashboard(t *testing.T) (list []query) {
	t.Helper()
	text, err := os.ReadFile("../grafana/callgate.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Type    string `json:"type"`
			GridPos struct{ X, Y, W, H int }
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Name  string `json:"name"`
				Query any    `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	ids := map[int]bool{}
	for _, p := range file.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: its number is taken, or it is too wide", p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			list = append(list, query{p.Title, fill.Replace(q.Expr)})
		}
	}
	for _, v := range file.Templating.List {
		if m := regexp.MustCompile(`label_values\((\w+), \w+\)`).FindStringSubmatch(fmt.Sprint(v.Query)); m != nil {
			list = append(list, query{"$" + v.Name, m[1]})
		}
	}
	return list
}

// added are labels that Prometheus itself puts on what it scrapes.
var added = []string{"instance", "job"}

// TestMetricsNamed holds that every expression of the rules and of the dashboard is one, and names
// only metrics and labels that the gateway exposes after mixed traffic.
func TestMetricsNamed(t *testing.T) {
	t.Parallel()
	real, golden := mixed(t)
	list, records := rules(t)
	list = append(list, dashboard(t)...)
	list = append(list, query{"autoscaling", inFlight})
	if len(list) < 40 {
		t.Errorf("got %d expressions, want more: are they found?", len(list))
	}
	find := func(name string) map[string]bool {
		switch {
		case name == "up":
			return map[string]bool{}
		case records[name] != nil:
			return records[name]
		case real[name] != nil:
			return real[name]
		case slices.Contains(seldom, strings.TrimSuffix(name, "_bucket")):
			return golden[name]
		}
		return nil
	}
	used := map[string]bool{}
	for _, q := range list {
		for _, complaint := range wrong(t, q.text, find, used) {
			t.Errorf("%s: %s\n%s", q.at, complaint, q.text)
		}
	}
	for _, name := range seldom {
		if real[name] != nil || !used[name] {
			t.Errorf("%s is no exception any more", name)
		}
	}
	// It would find what is wrong.
	for text, want := range map[string]string{
		"rate(callgate_request_total[5m])":                             "no metric callgate_request_total",
		`callgate_circuit_state{upstream="x"}`:                         "no label upstream",
		"sum by (upstream) (rate(callgate_requests_total[5m]))":        "no label upstream",
		"sum(rate(callgate_requests_total[5m])":                        "unclosed",
		"histogram_quantile(0.9, rate(callgate_overhead_seconds[5m]))": "no metric callgate_overhead_seconds",
	} {
		if got := wrong(t, text, find, used); len(got) == 0 || !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// wrong says what is wrong with an expression; find returns the labels of a metric.
func wrong(t *testing.T, text string, find func(string) map[string]bool, used map[string]bool) (complaints []string) {
	t.Helper()
	expr, err := parse(t, text)
	if err != nil {
		return []string{err.Error()}
	}
	// All labels of the metrics below a node.
	below := func(n parser.Node) map[string]bool {
		all := map[string]bool{}
		parser.Inspect(n, func(n parser.Node, _ []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				for l, has := range find(v.Name) {
					all[l] = all[l] || has
				}
			}
			return nil
		})
		return all
	}
	known := func(have map[string]bool, l string) bool { return have[l] || slices.Contains(added, l) }
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			used[n.Name] = true
			have := find(n.Name)
			if have == nil {
				complaints = append(complaints, "there is no metric "+n.Name)
				return nil
			}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel && !known(have, m.Name) {
					complaints = append(complaints, n.Name+" has no label "+m.Name)
				}
			}
		case *parser.AggregateExpr:
			have := below(n.Expr)
			for _, l := range n.Grouping {
				if !known(have, l) {
					complaints = append(complaints, "what is summed has no label "+l)
				}
			}
		}
		return nil
	})
	return complaints
}
