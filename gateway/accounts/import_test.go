package accounts_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/usage"
)

var importDay = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func imported(t testing.TB, data []byte, o accounts.ImportOptions) (accounts.Imported, *accounts.Prices) {
	t.Helper()
	if o.Day.IsZero() {
		o.Day = importDay
	}
	in, err := accounts.Import(data, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := accounts.ParsePrices("imported.yaml", in.File)
	if err != nil {
		t.Fatal(err)
	}
	return in, p
}

func fileOf(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestImportGenai compares what random usages cost with what genai-prices 0.2.3 itself has made of them, in
// Python's decimals: testdata/import/genai.json is a part of its data, under the MIT licence, and genai.jsonl has
// provider, model, the tokens of input, reads, short and long writes, output and reasoning, and nano-dollars.
func TestImportGenai(t *testing.T) {
	t.Parallel()
	data := fileOf(t, "testdata/import/genai.json")
	prices := map[string]*accounts.Prices{}
	for _, provider := range []string{"openai", "anthropic", "google", "x-ai"} {
		_, prices[provider] = imported(t, data, accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: provider}}})
	}
	compared, unpriced := 0, 0
	for lines := bufio.NewScanner(strings.NewReader(string(fileOf(t, "testdata/import/genai.jsonl")))); lines.Scan(); {
		var c [9]any
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n := func(i int) int { return int(c[i].(float64)) }
		u := usage.Usage{Input: n(2), CacheRead: n(3), WriteShort: n(4), WriteLong: n(5), Output: n(6), Reasoning: n(7)}
		nano, priced, _ := prices[c[0].(string)].Price("any", c[1].(string), u)
		switch {
		case !priced:
			unpriced++
		case nano != int64(n(8)):
			t.Errorf("%s %s %+v: got %d, want %d", c[0], c[1], u, nano, n(8))
		default:
			compared++
		}
	}
	if compared < 300 || unpriced > 50 {
		t.Errorf("got %d that could be compared and %d without a price, want 300 and few", compared, unpriced)
	}
	t.Logf("%d usages cost what genai-prices says, to the nano-dollar; %d have no price for tokens of output", compared, unpriced)
}

// TestImportNames holds whose prices they are, and that one file may have several providers.
func TestImportNames(t *testing.T) {
	t.Parallel()
	data := fileOf(t, "testdata/import/genai.json")
	in, p := imported(t, data, accounts.ImportOptions{Models: []string{"gpt-4o*", "claude-sonnet*"}, Providers: []accounts.ImportProvider{{Theirs: "openai", Ours: "main"}, {Theirs: "anthropic"}}})
	for _, c := range []struct {
		provider, model string
		want            bool
	}{{"main", "gpt-4o-mini", true}, {"openai", "gpt-4o-mini", false}, {"anthropic", "claude-sonnet-4-5-20250929", true}, {"main", "gpt-4.1", false}} {
		if got := p.Priced(c.provider, c.model); got != c.want {
			t.Errorf("%s %s: got priced %v, want %v", c.provider, c.model, got, c.want)
		}
	}
	if !strings.Contains(string(in.File), "date: 2026-11-23\n") {
		t.Errorf("got %.200s, want the day", in.File)
	}
}

// TestImportLitellm holds prices of LiteLLM's file, which are for one token.
func TestImportLitellm(t *testing.T) {
	t.Parallel()
	data := fileOf(t, "testdata/import/litellm.json")
	_, p := imported(t, data, accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "openai"}}})
	_, gemini := imported(t, data, accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "gemini"}}})
	for _, c := range []struct {
		p     *accounts.Prices
		model string
		u     usage.Usage
		want  int64
	}{
		{p, "gpt-4o", usage.Usage{Input: 1000, CacheRead: 400, Output: 100}, 600*2500 + 400*1250 + 100*10_000},
		{p, "gpt-5", usage.Usage{Input: 1000, CacheRead: 400, Output: 100}, 600*1250 + 400*125 + 100*10_000},
		{gemini, "gemini-2.5-pro", usage.Usage{Input: 200_000, Output: 10}, 200_000*1250 + 10*10_000},
		{gemini, "gemini-2.5-pro", usage.Usage{Input: 200_001, Output: 10}, 200_001*2500 + 10*15_000},
	} {
		if got, _, _ := c.p.Price("any", c.model, c.u); got != c.want {
			t.Errorf("%s %+v: got %d, want %d", c.model, c.u, got, c.want)
		}
	}
}

// TestImportLitellmCosts compares what random usages cost with what LiteLLM 1.110.2 itself has made of them, in floats:
// testdata/import/litellm.json is a part of its data, under the MIT licence, and litellm.jsonl is as genai.jsonl.
func TestImportLitellmCosts(t *testing.T) {
	t.Parallel()
	data := fileOf(t, "testdata/import/litellm.json")
	prices := map[string]*accounts.Prices{}
	compared := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(string(fileOf(t, "testdata/import/litellm.jsonl")))); lines.Scan(); {
		var c [9]any
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		provider, model := c[0].(string), c[1].(string)
		if prices[provider] == nil {
			in, err := accounts.Import(data, accounts.ImportOptions{Day: importDay, Providers: []accounts.ImportProvider{{Theirs: provider}}})
			if err != nil {
				t.Log(provider, err)
				prices[provider] = &accounts.Prices{}
			} else {
				prices[provider], _ = accounts.ParsePrices("x", in.File)
				for _, n := range in.Notes {
					t.Log("NOTE", provider, n)
				}
			}
		}
		n := func(i int) int { return int(c[i].(float64)) }
		u := usage.Usage{Input: n(2), CacheRead: n(3), WriteShort: n(4), WriteLong: n(5), Output: n(6), Reasoning: n(7)}
		nano, priced, _ := prices[provider].Price("any", model, u)
		if off := nano - int64(n(8)); !priced || off < -1 || off > 1 {
			t.Errorf("%s %s %+v: got %d (priced: %v), want %d", provider, model, u, nano, priced, n(8))
			continue
		}
		compared[provider]++
	}
	t.Logf("usages that cost what LiteLLM says, to the nano-dollar: %v", compared)
}

// TestImportLitellmRanges holds what is said of models whose prices by the length of the prompt cannot be taken.
func TestImportLitellmRanges(t *testing.T) {
	t.Parallel()
	for ranges, want := range map[string]string{
		`"tiered_pricing":[{"range":[0,1],"input_cost_per_token":2e-6,"output_cost_per_token":4e-6},{"range":[1000,5000],"input_cost_per_token":3e-6}]`: "",
		`"tiered_pricing":[{"max_results_range":[0,25],"input_cost_per_query":1}],"input_cost_per_token":2e-6,"output_cost_per_token":4e-6`:             "",
		`"tiered_pricing":null,"off_peak_pricing":null,"input_cost_per_token":2e-6,"output_cost_per_token":4e-6`:                                        "",
		`"tiered_pricing":[{"range":[32000,64000],"input_cost_per_token":2e-6}]`:                                                                        "its tiered_pricing does not begin at 0",
		`"tiered_pricing":[{"range":[0,32000],"output_cost_per_token":2e-6}]`:                                                                           "its tiered_pricing has no price for a token of input",
		`"tiered_pricing":[{"range":[0,1]},{"range":[-5,1],"input_cost_per_token":2e-6}]`:                                                               "its tiered_pricing has no price",
		`"tiered_pricing":[{"range":[0,1],"input_cost_per_token":2e-6},{"range":[1e30,2e30],"input_cost_per_token":2e-6}]`:                              "its tiered_pricing has a range that begins at 1e30",
		`"tiered_pricing":"free","input_cost_per_token":2e-6`:                                                                                           "its tiered_pricing cannot be read",
		`"tiered_pricing":[{"range":[0,1],"input_cost_per_token":"much"}]`:                                                                              "its input_cost_per_token is no number",
		`"off_peak_pricing":{},"input_cost_per_token":2e-6,"output_cost_per_token":4e-6`:                                                                "change in the course of a day",
	} {
		data := `{"good":{"litellm_provider":"p","input_cost_per_token":1e-6},"p/m":{"litellm_provider":"p",` + ranges + `}}`
		in, err := accounts.Import([]byte(data), accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "p"}}, Day: importDay})
		if err != nil {
			t.Fatal(err)
		}
		p, err := accounts.ParsePrices("imported.yaml", in.File)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(in.Notes, "; ")
		nano, priced, _ := p.Price("any", "m", usage.Usage{Input: 1000, Output: 10})
		if want == "" && (nano != 1000*2000+10*4000 || said != "") || want != "" && (priced || !strings.Contains(said, want)) {
			t.Errorf("%s: got %d (priced: %v) and %q, want %q", ranges, nano, priced, said, want)
		}
	}
}

// TestImportDays holds that prices of the future do not count yet.
func TestImportDays(t *testing.T) {
	t.Parallel()
	const data = `[{"id":"p","models":[{"id":"m","match":{"equals":"m"},"prices":[{"prices":{"input_mtok":1,"output_mtok":1}},
		{"constraint":{"start_date":"2026-11-23"},"prices":{"input_mtok":2,"output_mtok":1}},{"constraint":{"start_date":"2027-01-01"},"prices":{"input_mtok":3,"output_mtok":1}}]}]}]`
	for day, want := range map[string]int64{"2026-11-22": 1000, "2026-11-23": 2000, "2027-03-01": 3000} {
		at, _ := time.Parse(time.DateOnly, day)
		_, p := imported(t, []byte(data), accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "p"}}, Day: at})
		if got, _, _ := p.Price("any", "m", usage.Usage{Input: 1}); got != want {
			t.Errorf("%s: got %d, want %d", day, got, want)
		}
	}
}

// TestImportMistakes holds what is said of files and models that cannot be read.
func TestImportMistakes(t *testing.T) {
	t.Parallel()
	model := func(prices string) string {
		return `[{"id":"p","models":[{"id":"good","match":{"equals":"good"},"prices":{"input_mtok":1}},{"id":"m","match":{"equals":"m"},"prices":` + prices + `}]}]`
	}
	for text, want := range map[string]string{
		"":                                    "neither genai-prices' data.json nor LiteLLM's",
		"<html>":                              "neither genai-prices' data.json nor LiteLLM's",
		"[1]":                                 "it is not genai-prices' data.json",
		`{"a": 1}`:                            "it is not LiteLLM's",
		`{"a": {}}`:                           "no entry has a litellm_provider",
		`[{"id":"q","models":[]}]`:            `the file has no provider "p"`,
		`[{"id":"q","models":[{"id":"m"}]}]`:  `the file has no provider "p"; it has q (1)`,
		model(`{"input_mtok":-1}`):            "its input is no price",
		model(`{"input_mtok":1e-999999999}`):  "its input is no number",
		model(`{"input_mtok":0.12345678912}`): "its input is no price of up to nine digits",
		model(`{"input_mtok":1,"cache_read_mtok":2}`): "a read from its cache costs more",
		model(`{"output_mtok":1}`):                    "it has no price for a token of input",
		model(`[{"prices":{"input_mtok":1}},{"constraint":{"start_time":"16:30:00","end_time":"00:30:00"},"prices":{"input_mtok":2}}]`): "change in the course of a day",
		model(`"free"`): "its prices cannot be read",
	} {
		in, err := accounts.Import([]byte(text), accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "p"}}, Day: importDay})
		said := strings.Join(in.Notes, "\n")
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, want) {
			t.Errorf("%.120s: got %q, want %q", text, said, want)
		}
		if err == nil && !strings.Contains(string(in.File), `"good"`) {
			t.Errorf("%.120s: the model that is good is not there", text)
		}
	}
	if _, err := accounts.Import(fileOf(t, "testdata/import/genai.json"), accounts.ImportOptions{}); err == nil || !strings.Contains(err.Error(), "--provider openai; the file has anthropic (") {
		t.Errorf("got %v, want what providers there are", err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`[{"id":"p","models":[{"id":"m","match":{"or":[{"equals":"m"},{"starts_with":"n"}]},"prices":{"input_mtok":{"base":1,"tiers":[{"start":200000,"price":2.5}]},"output_mtok":"3"}}]}]`))
	f.Add([]byte(`{"m":{"litellm_provider":"p","input_cost_per_token":2.5e-06,"output_cost_per_token_above_200k_tokens":1e-5}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := accounts.Import(data, accounts.ImportOptions{Providers: []accounts.ImportProvider{{Theirs: "p"}}, Day: importDay})
		if err != nil {
			return
		}
		if _, err := accounts.ParsePrices("imported.yaml", in.File); err != nil {
			t.Errorf("it makes a file that is refused: %v", err)
		}
	})
}
