package cli

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// BenchmarkAnswerCache is a request over HTTP to the demo upstream, whole and streamed:
// without a cache, with one that has no answer, and with one that has.
func BenchmarkAnswerCache(b *testing.B) {
	cfg, err := config.Parse("bench.yaml", []byte("providers: {demo: {type: demo}}\nmodels:\n"+
		"  off: {targets: [{provider: demo, model: native}]}\n  kept: {targets: [{provider: demo, model: native}], answer_cache: memory}\n"), nil)
	if err != nil {
		b.Fatal(err)
	}
	sys, err := wire(b.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer sys.close(b.Context())
	if err := sys.parsers.load(b.Context(), true); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(sys)
	defer server.Close()
	ask := func(b *testing.B, model, outcome string, seed int, stream bool) {
		body := `{"model":"` + model + `","seed":` + strconv.Itoa(seed) + `,"stream":` + strconv.FormatBool(stream) + `,"messages":[{"role":"user","content":"Hello, who are you?"}]}`
		resp, err := server.Client().Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || resp.Header.Get("x-callgate-cache") != outcome {
			b.Fatalf("got status %d, %q: %s", resp.StatusCode, resp.Header.Get("x-callgate-cache"), text)
		}
	}
	seed := 0
	for _, stream := range []bool{false, true} {
		for _, row := range []struct{ model, outcome string }{{"off", ""}, {"kept", "miss"}, {"kept", "hit"}} {
			b.Run(row.model+"_"+row.outcome+"_stream_"+strconv.FormatBool(stream), func(b *testing.B) {
				if row.outcome == "hit" {
					ask(b, row.model, "miss", -1, stream)
				}
				for b.Loop() {
					if seed++; row.outcome == "hit" {
						ask(b, row.model, "hit", -1, stream)
						continue
					}
					ask(b, row.model, row.outcome, seed, stream)
				}
			})
		}
	}
}
