package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestReady holds that the command's status says whether a gateway takes requests: health checks of
// images have nothing else.
func TestReady(t *testing.T) {
	t.Parallel()
	g := serve(t, "")
	ready := func(url string) (int, string) {
		var out, errs bytes.Buffer
		status := run(t.Context(), []string{"ready", "--url", url}, nil, &out, &errs)
		return status, out.String() + errs.String()
	}
	if status, said := ready("http://" + g.addr); status != exitOK || said != "ok\n" {
		t.Errorf("got status %d and %q, want a gateway that is ready", status, said)
	}
	down := static(t, 503, "text/plain", "the gateway is shutting down\n")
	if status, said := ready(down); status != exitFailed || !strings.Contains(said, "shutting down") {
		t.Errorf("got status %d and %q, want what the gateway says", status, said)
	}
	if status, said := ready("http://127.0.0.1:1"); status != exitFailed {
		t.Errorf("nobody is there: got status %d and %q", status, said)
	}
	if status, said := ready("127.0.0.1:8080"); status != exitUsage || !strings.Contains(said, "http://127.0.0.1:8080") {
		t.Errorf("no URL: got status %d and %q", status, said)
	}
}
