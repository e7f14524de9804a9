package headers_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway/headers"
)

// TestManyHeadersKeepTheType: of too many headers the content type is none that goes: a client would not
// know what the answer is.
func TestManyHeadersKeepTheType(t *testing.T) {
	t.Parallel()
	h := http.Header{"Content-Type": {"application/json"}}
	for i := range 80 {
		h.Set(fmt.Sprintf("Anthropic-Ratelimit-%d", i), "1")
	}
	out, held := headers.Answer{Quotes: func(string) bool { return false }}.Pass(h)
	if got := out.Get("Content-Type"); got != "application/json" {
		t.Errorf("got the content type %q", got)
	}
	if len(out) != 64 || held.Counts[headers.TooMuch] != 17 {
		t.Errorf("got %d headers, and %d were too many", len(out), held.Counts[headers.TooMuch])
	}
}
