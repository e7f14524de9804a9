package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestLargeErrors has an upstream say more than an error has, with the status of success, in the place of an answer
// and in the midst of one: nothing of it is read, which took half a minute for 30 MB, and nothing goes on.
func TestLargeErrors(t *testing.T) {
	t.Parallel()
	message := strings.Repeat(`reduce the length of the prompt 4096, `, 80_000) // 3 MB
	body := fmt.Sprintf(`{"error":{"message":"%s","type":"invalid_request_error","code":"context_length_exceeded"}}`, message)
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, retry: {max_retries: 0}}}", upstream(t, func(w http.ResponseWriter, r received) {
		switch {
		case strings.Contains(r.body, `"late"`):
			w.Header().Set("content-type", events)
			send(w, role, delta(healthyText), "data: "+body+"\n\n")
		case strings.Contains(r.body, `"early"`):
			w.Header().Set("content-type", events)
			send(w, "data: "+body+"\n\n")
		default:
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, body)
		}
	})))
	for kind, status := range map[string]int{"whole": http.StatusBadGateway, "early": http.StatusBadGateway, "late": http.StatusOK} {
		r := g.chat(prompt("up/"+kind, "hi", kind != "whole"))
		if r.status != status || strings.Contains(r.body, "reduce the length") || !strings.Contains(r.body, "the upstream answered with an error.") || strings.Contains(r.body, "[DONE]") {
			t.Errorf("%s: got status %d and %d bytes, %.300s", kind, r.status, len(r.body), r.body)
		}
	}
}
