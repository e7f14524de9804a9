package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/studio"
	"github.com/callgate/callgate/examples/adstudio/tools"
	"github.com/callgate/callgate/examples/adstudio/web"
)

// assistant drafts music by the app's API, as the tools do, and answers.
type assistant struct {
	app  tools.Remote
	fail error
	// Unless they are nil a turn says that it has begun, and goes on when wait is closed.
	begun, wait chan struct{}
}

func (s *assistant) Title(context.Context, string) (title, cache string, err error) {
	return "Spot for <Baan>", "hit", nil
}

func (s *assistant) Turn(ctx context.Context, a *ads.Ad, _ string, text func(string)) (studio.Answer, error) {
	if s.wait != nil {
		s.begun <- struct{}{}
		select {
		case <-s.wait:
		case <-ctx.Done():
			return studio.Answer{}, ctx.Err()
		}
	}
	d := ads.Draft{Kind: ads.Music, Title: "Upbeat pop", Mood: "upbeat", TempoBPM: 90 + len(a.Turns), DurationSeconds: 30}
	if _, err := s.app.Draft(ctx, a.ID, d); err != nil {
		return studio.Answer{}, err
	}
	if text != nil {
		text("Here ")
		text("it is.")
	}
	cost := ads.Cost{InputTokens: 4000, CachedTokens: 1024, OutputTokens: 100, USD: 0.0009, SavedUSD: 0.0002, Priced: true, Model: "m", Route: "adstudio;rule=1;language=th", Rounds: "rounds=4;calls=5;stop=answer"}
	return studio.Answer{Conversation: "conv_1", Text: "Here it is.", Cost: cost}, s.fail
}

func serve(t *testing.T, s *assistant) string {
	t.Helper()
	store, err := ads.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.New(store, s, slog.New(slog.DiscardHandler)).Handler())
	t.Cleanup(server.Close)
	s.app = tools.Remote{URL: server.URL, Client: server.Client()}
	return server.URL
}

func post(t *testing.T, address, contentType, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func generate(t *testing.T, base string) (id string) {
	t.Helper()
	resp, text := post(t, base+"/api/ai/generate", asJSON, `{"brief":"A spot for Baan","language":"th","market":"TH","budget":"standard"}`)
	var got struct {
		AdID string `json:"ad_id"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != http.StatusOK || got.AdID == "" {
		t.Fatalf("got %d and %s", resp.StatusCode, text)
	}
	return got.AdID
}

// TestForms goes the whole way without a script: brief, drafts, a change, activation, deletion.
func TestForms(t *testing.T) {
	t.Parallel()
	base := serve(t, &assistant{})
	brief := url.Values{"brief": {"A spot for Baan"}, "language": {"th"}, "market": {"TH"}, "budget": {"premium"}}
	resp, page := post(t, base+"/ads", asForm, brief.Encode())
	address := resp.Request.URL.String()
	has := func(page string, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("got no %q in %s", text, page)
			}
		}
	}
	has(page, "Spot for &lt;Baan&gt;", "Upbeat pop", "90 BPM", "Here it is.", "saved $0.0002", "26 % cached", "rule 1, language th", "4 rounds, 5 calls</span>", "title from the answer cache", "Activate")
	_, page = post(t, address+"/chat", asForm, "message=more+upbeat")
	has(page, "91 BPM", "music 2")
	_, page = post(t, address+"/activate", asForm, "kind=music&version=2")
	has(page, "version active", "Active</p>", "Activate music 1")
	resp, page = post(t, address+"/activate", asForm, "kind=music&version=9")
	has(page, "no version 9 of its music")
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("got status %d, want 400", resp.StatusCode)
	}
	_, page = post(t, address+"/delete", asForm, "")
	if strings.Contains(page, "Baan&gt;") {
		t.Error("the ad is still in the list")
	}
	if resp, _ := post(t, address+"/chat", asForm, "message=hi"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("got status %d for an ad that is gone, want 404", resp.StatusCode)
	}
}

// TestStream holds what the page's script reads.
func TestStream(t *testing.T) {
	t.Parallel()
	base := serve(t, &assistant{})
	_, text := post(t, base+"/api/ai/generate", asJSON, `{"brief":"A spot for Baan"}`, "Accept", "text/event-stream")
	var names []string
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "event: "); ok {
			names = append(names, name)
		}
	}
	if got := strings.Join(names, " "); got != "ad draft text text done" {
		t.Errorf("got the events %s: %s", got, text)
	}
}

// TestRefused holds what is refused, and how it is said.
func TestRefused(t *testing.T) {
	t.Parallel()
	base := serve(t, &assistant{})
	id := generate(t, base)
	long := strings.Repeat("x", ads.MaxText+1)
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no brief", "/api/ai/generate", `{}`, 400, "The brief is empty."},
		{"a long brief", "/api/ai/generate", `{"brief":"` + long + `"}`, 413, "longer than 4000"},
		{"no JSON", "/api/ai/generate", `{`, 400, "JSON"},
		{"a number as brief", "/api/ai/generate", `{"brief":5}`, 400, "The field \\\"brief\\\" cannot be a JSON number."},
		{"no message", "/api/ads/" + id + "/chat", `{"message":" "}`, 400, "The message is empty."},
		{"a long message", "/api/ads/" + id + "/chat", `{"message":"` + long + `"}`, 413, "Shorten it."},
		{"no ad", "/api/ads/ad_x/chat", `{"message":"hi"}`, 404, "no ad"},
		{"no version", "/api/ads/" + id + "/activate", `{"kind":"music","version":7}`, 400, "It has 1."},
		{"no kind", "/api/ads/" + id + "/drafts", `{"kind":"film"}`, 400, "voice, music and sfx"},
	} {
		resp, text := post(t, base+tt.path, asJSON, tt.body)
		if resp.StatusCode != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: got %d and %s, want %d and %q", tt.name, resp.StatusCode, text, tt.status, tt.want)
		}
	}
	if resp, _ := post(t, base+"/ads/"+id+"/delete", asForm, "", "Sec-Fetch-Site", "cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %d for another site's form, want 403", resp.StatusCode)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base, nil)
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("got %d for a stranger's name, want 421", resp.StatusCode)
	}
}

// TestFailed holds that a turn that fails is kept with its drafts and its reason.
func TestFailed(t *testing.T) {
	t.Parallel()
	base := serve(t, &assistant{fail: &ads.Error{Type: "unavailable", Message: "The gateway answered 503."}})
	resp, text := post(t, base+"/api/ai/generate", asJSON, `{"brief":"x"}`)
	if resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, `"failed":"The gateway answered 503."`) || !strings.Contains(text, `"made":["music 1"]`) {
		t.Errorf("got %d and %s", resp.StatusCode, text)
	}
}

// TestOneTurn holds that an ad has one turn at a time, and that a client who leaves ends his.
func TestOneTurn(t *testing.T) {
	t.Parallel()
	s := &assistant{}
	base := serve(t, s)
	id := generate(t, base)
	s.wait, s.begun = make(chan struct{}), make(chan struct{}, 2)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/ads/"+id+"/chat", strings.NewReader(`{"message":"one"}`))
		if err == nil {
			_, err = http.DefaultClient.Do(req)
		}
		left <- err
	}()
	<-s.begun
	if resp, text := post(t, base+"/api/ads/"+id+"/chat", asJSON, `{"message":"two"}`); resp.StatusCode != http.StatusConflict || !strings.Contains(text, "Wait for its answer") {
		t.Errorf("got %d and %s, want 409", resp.StatusCode, text)
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the client has left", err)
	}
	close(s.wait) // for the turn that comes
	for resp := (*http.Response)(nil); resp == nil || resp.StatusCode == http.StatusConflict; {
		resp, _ = post(t, base+"/api/ads/"+id+"/chat", asJSON, `{"message":"three"}`)
	}
}
