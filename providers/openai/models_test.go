package openai_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

func TestModels(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   []string
		kind   gateway.Kind
	}{
		{200, `{"object":"list","data":[{"id":"b","x":1},{"id":"a"},{"id":""}]}`, []string{"b", "a"}, 0},
		{200, `{"data":[]}`, []string{}, 0},
		{200, `{"data":{}}`, nil, gateway.Unavailable},
		{200, `[]`, nil, gateway.Unavailable},
		{200, `{"x":"` + strings.Repeat("x", 4<<20) + `"}`, nil, gateway.Unavailable},
		{404, `{}`, nil, gateway.Rejected},
		{401, `{}`, nil, gateway.Unauthorized},
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("got %s %s with %v, want GET /v1/models with the key", r.Method, r.URL, r.Header)
			}
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		got, err := mustNew(t, openai.Config{BaseURL: url, APIKey: "k"}).Models(t.Context())
		if tt.want == nil && (err == nil || gateway.AsError(err).Kind != tt.kind) {
			t.Errorf("%.40s: got %v, want an error of Kind %d", tt.body, err, tt.kind)
		}
		if tt.want != nil && (err != nil || !slices.Equal(got, tt.want)) {
			t.Errorf("%.40s: got %q, %v, want %q", tt.body, got, err, tt.want)
		}
	}
}
