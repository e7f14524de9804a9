package httpapi

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/flow"
)

// TestHeaderTooLarge holds that a header which net/http refuses by itself gets an error of the API.
func TestHeaderTooLarge(t *testing.T) {
	t.Parallel()
	g, err := flow.New(flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Gateway: g})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.HTTP()
	go func() { _ = server.Serve(s.Listener(l)) }()
	t.Cleanup(func() { _ = server.Close() })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-large", strings.Repeat("a", maxHeader+8<<10))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	var said struct {
		Type  string
		Error struct{ Message, Type, Code string }
	}
	if err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || resp.Header.Get("content-type") != "application/json" ||
		json.Unmarshal(body, &said) != nil || said.Error.Code != "header_too_large" || !strings.Contains(said.Error.Message, "64 KiB") {
		t.Errorf("got %s, %v, %q and error %v", resp.Status, resp.Header, body, err)
	}
}
