package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestUsageLargePage holds that a page of an export that is larger than the command takes at once is asked for again in smaller ones: nothing is cut
// off. Clients write names and sessions that are as long as may be, and operators labels.
func TestUsageLargePage(t *testing.T) {
	t.Parallel()
	var limits []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		limits = append(limits, q.Get("limit"))
		switch {
		case q.Get("cursor") == "second":
			io.WriteString(w, "{\"id\":\"b\"}\n")
		case q.Get("limit") == "10000":
			w.Header().Set("X-Callgate-Cursor", "second")
			line := strings.Repeat("x", 1<<20-1) + "\n"
			for range operatorAnswer>>20 + 1 {
				io.WriteString(w, line)
			}
		default:
			w.Header().Set("X-Callgate-Cursor", "second")
			io.WriteString(w, "{\"id\":\"a\"}\n")
		}
	}))
	defer s.Close()
	status, out, errs := command(t, "", "usage", "--by", "row", "--admin", s.URL)
	if status != 0 || out != "{\"id\":\"a\"}\n{\"id\":\"b\"}\n" || strings.Join(limits, " ") != "10000 5000 5000" {
		t.Errorf("got status %d, %d bytes that begin with %.100q, %s, by limits of %v", status, len(out), out, errs, limits)
	}
}
