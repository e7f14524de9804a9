package adstudio_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/studio"
	"github.com/callgate/callgate/examples/adstudio/tools"
	"github.com/callgate/callgate/examples/adstudio/web"
	"github.com/callgate/callgate/internal/e2e/gate"
)

func TestMain(m *testing.M) {
	status := m.Run()
	gate.Clean()
	os.Exit(status)
}

// example is where the example is.
const example = "../../../examples/adstudio"

// place is what outlives the programs: ads, and what the gateway keeps.
type place struct {
	dir     string
	compact int // how many tokens of a conversation are many; 0: as the example says
	next    int // percent of ads that the rollout leads to the other model
}

// running is the example: its gateway and its page.
type running struct {
	gate *gate.Gate
	url  string
}

// start runs the gateway with the example's own configuration, the tools and the page.
func (p place) start(t *testing.T) *running {
	t.Helper()
	store, err := ads.Open(filepath.Join(p.dir, "ads"))
	if err != nil {
		t.Fatal(err)
	}
	app := httptest.NewUnstartedServer(nil)
	remote := tools.Remote{URL: "http://" + app.Listener.Addr().String(), Client: http.DefaultClient}
	server := httptest.NewServer(tools.Handler(remote))
	t.Cleanup(server.Close)
	config, err := os.ReadFile(filepath.Join(example, "callgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	prices, err := filepath.Abs(filepath.Join(example, "prices.json"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(
		"${ADSTUDIO_TOOLS:-http://127.0.0.1:8091/mcp}", server.URL, "${ADSTUDIO_DATA:-.}", p.dir, "${ADSTUDIO_PRICES:-prices.json}", prices,
		"${ADSTUDIO_ADMIN:-127.0.0.1:8081}", "127.0.0.1:0", "compact_tokens: 6000", fmt.Sprint("compact_tokens: ", cmp.Or(p.compact, 6000)),
		"weight: 90", fmt.Sprint("weight: ", 100-p.next), "weight: 10", fmt.Sprint("weight: ", p.next),
	).Replace(string(config))
	r := &running{gate: gate.Serve(t, []byte(text))}
	list, err := studio.ReadPrices(prices)
	if err != nil {
		t.Fatal(err)
	}
	app.Config.Handler = web.New(store, studio.New(r.gate.URL+"/v1", "none", "adstudio", list), slog.New(slog.DiscardHandler)).Handler()
	app.Start()
	t.Cleanup(app.Close)
	r.url = app.URL
	return r
}

// turn is the answer of both requests to the assistant.
type turn struct {
	AdID  string    `json:"ad_id"`
	Turn  ads.Turn  `json:"turn"`
	State ads.State `json:"state"`
}

// post asks the app, whole or streamed, and returns the end of its answer.
func (r *running) post(t *testing.T, path string, body map[string]any, stream bool) (got turn) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+path, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	last, said := string(answer), ""
	if stream {
		_, last, _ = strings.Cut(last, "event: done\ndata: ")
		for block := range strings.SplitSeq(string(answer), "\n\n") {
			if data, ok := strings.CutPrefix(block, "event: text\ndata: "); ok {
				var piece struct{ Delta string }
				if json.Unmarshal([]byte(data), &piece) == nil {
					said += piece.Delta
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(last), &got); err != nil || resp.StatusCode != http.StatusOK || got.Turn.Failed != "" {
		t.Fatalf("%s: got %d and %s", path, resp.StatusCode, answer)
	}
	if stream && strings.TrimSpace(said) != got.Turn.Text {
		t.Errorf("got the pieces %q of the text %q", said, got.Turn.Text)
	}
	return got
}

const coffee = "30 seconds for Baan Coffee in Chiang Mai: a family café, warm and unhurried. The new cold brew is out."

// routes are ways that an ad may go: to a model with native calls and to one that writes them as
// text, whole and streamed.
var routes = []struct { //nolint:gochecknoglobals // a table
	name, language, market, budget string
	stream                         bool
	route, model, voice            string
}{
	{"native whole", "en", "US", "standard", false, "adstudio;language=en", "adstudio", "en_ava"},
	{"native streamed", "en", "US", "premium", true, "adstudio;rule=3;language=en", "adstudio-premium", "en_ava"},
	{"text whole", "th", "TH", "standard", false, "adstudio;rule=1;language=th", "adstudio-hermes", "th_malee"},
	{"text streamed", "id", "ID", "premium", true, "adstudio;rule=1;language=id", "adstudio-hermes", "id_ayu"},
	{"a market", "de", "DE", "premium", false, "adstudio;rule=2;language=de", "adstudio", "de_anke"},
}

// TestAd makes an ad, refines it and activates a version, by each route, and goes on after
// everything was started again.
func TestAd(t *testing.T) {
	t.Parallel()
	p, made := place{dir: t.TempDir()}, map[string]string{}
	t.Run("make and refine", func(t *testing.T) {
		r := p.start(t)
		for _, tt := range routes {
			first := r.post(t, "/api/ai/generate", map[string]any{"brief": coffee, "language": tt.language, "market": tt.market, "budget": tt.budget}, tt.stream)
			id := first.AdID
			made[tt.name] = id
			if want := []string{"voice 1", "music 1", "sfx 1"}; !slices.Equal(first.Turn.Made, want) {
				t.Errorf("%s: got %q, want %q", tt.name, first.Turn.Made, want)
			}
			c, s := first.Turn.Cost, first.State
			if c.Route != tt.route || c.Model != tt.model || c.Rounds != "rounds=4;calls=5;stop=answer" || c.Notes != "" {
				t.Errorf("%s: got the route %q, the model %q, %q and %q, want %s, %s, 4 rounds and nothing to note", tt.name, c.Route, c.Model, c.Rounds, c.Notes, tt.route, tt.model)
			}
			if c.CachedTokens == 0 || c.InputTokens <= c.CachedTokens || c.OutputTokens == 0 || c.USD <= 0 || c.SavedUSD <= 0 {
				t.Errorf("%s: got the cost %+v, want tokens of all rounds, some of them cached, with their prices", tt.name, c)
			}
			if s.Voice.VoiceID != tt.voice || s.Music.TempoBPM != 96 || !strings.Contains(s.SFX.Description, "espresso") || s.Title != "Spot for Baan Coffee" {
				t.Errorf("%s: got %+v with %s, want a voice of the market, music and an effect", tt.name, s, s.Voice.VoiceID)
			}
			for _, name := range []string{s.Voice.Title, s.Music.Title, s.SFX.Title} {
				if !strings.Contains(first.Turn.Text, name) {
					t.Errorf("%s: got the answer %q, want %s in it", tt.name, first.Turn.Text, name)
				}
			}
			again := r.post(t, "/api/ads/"+id+"/chat", map[string]any{"message": "Make the music more upbeat"}, tt.stream)
			if !slices.Equal(again.Turn.Made, []string{"music 2"}) || again.State.Music.TempoBPM != 120 || again.State.Versions[ads.Voice] != 1 {
				t.Errorf("%s: got %q at %d BPM, want music alone, and faster", tt.name, again.Turn.Made, again.State.Music.TempoBPM)
			}
			if again.Turn.Cost.Route != tt.route {
				t.Errorf("%s: got the route %q, want %q as before", tt.name, again.Turn.Cost.Route, tt.route)
			}
		}
	})
	t.Run("restart", func(t *testing.T) {
		r := p.start(t)
		for _, tt := range routes {
			r.activate(t, made[tt.name], "music", 1)
			third := r.post(t, "/api/ads/"+made[tt.name]+"/chat", map[string]any{"message": "Try a male voice"}, tt.stream)
			if !slices.Equal(third.Turn.Made, []string{"voice 2"}) || third.State.Active[ads.Music] != 1 || third.State.Music.Version != 1 {
				t.Errorf("%s: got %q and %v, want another voice, and the music that was activated", tt.name, third.Turn.Made, third.State.Active)
			}
			if strings.Contains(third.Turn.Cost.Notes, "new one") || third.State.Voice.VoiceID == tt.voice || !strings.HasPrefix(third.State.Voice.VoiceID, tt.language) {
				t.Errorf("%s: got the voice %s and %q, want another voice of the language in the same conversation", tt.name, third.State.Voice.VoiceID, third.Turn.Cost.Notes)
			}
		}
	})
}

func (r *running) activate(t *testing.T, id, kind string, version int) {
	t.Helper()
	resp, err := http.Post(r.url+"/api/ads/"+id+"/activate", "application/json", strings.NewReader(fmt.Sprintf(`{"kind":%q,"version":%d}`, kind, version)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %d, want an active version", resp.StatusCode)
	}
}

// TestCaches holds that the same brief is named once, and that a long conversation is summarized
// by the gateway and goes on.
func TestCaches(t *testing.T) {
	t.Parallel()
	p := place{dir: t.TempDir(), compact: 800}
	r := p.start(t)
	body := map[string]any{"brief": coffee, "language": "th", "market": "TH", "budget": "standard"}
	r.post(t, "/api/ai/generate", body, false)
	second := r.post(t, "/api/ai/generate", body, false)
	if log := r.gate.Lines(t, `"answer_cache":"hit"`); strings.Count(log, "\n") != 1 || !strings.Contains(log, "adstudio-title") {
		t.Errorf("got the lines %q, want one title from the answer cache", log)
	}
	shortened := 0
	const turns = 4
	for i := range turns {
		got := r.post(t, "/api/ads/"+second.AdID+"/chat", map[string]any{"message": []string{"Make the music more upbeat", "Make the music calm"}[i%2]}, i%2 == 0)
		if len(got.Turn.Made) != 1 {
			t.Fatalf("turn %d: got %q and %q, want other music", i, got.Turn.Made, got.Turn.Text)
		}
		if strings.Contains(got.Turn.Cost.Notes, "a summary in the place of ") && strings.Contains(got.Turn.Cost.Notes, " items of the conversation") {
			shortened++
		}
	}
	if shortened == 0 {
		t.Errorf("got no summary in %d turns", turns)
	}
}

// TestRollout holds that the rollout takes a share of the ads that no rule leads elsewhere, that an ad stays where it
// began when the share grows, that the page says so, and that all go to the other model in the end.
func TestRollout(t *testing.T) {
	t.Parallel()
	const count = 16
	p := place{dir: t.TempDir(), next: 50}
	models := map[string]string{"standard/control": "adstudio", "standard/next": "adstudio-premium"}
	arms, ids := map[string]int{}, map[string]string{}
	t.Run("half", func(t *testing.T) {
		r := p.start(t)
		for range count {
			got := r.post(t, "/api/ai/generate", map[string]any{"brief": coffee, "language": "en", "market": "US", "budget": "standard"}, false)
			c := got.Turn.Cost
			if models[c.Arm] == "" || c.Model != models[c.Arm] {
				t.Errorf("got the arm %q and the model %q", c.Arm, c.Model)
			}
			arms[c.Arm]++
			ids[got.AdID] = c.Arm
		}
		if arms["standard/control"] == 0 || arms["standard/next"] == 0 {
			t.Errorf("got %v, want some of each", arms)
		}
		thai := r.post(t, "/api/ai/generate", map[string]any{"brief": coffee, "language": "th", "market": "TH", "budget": "standard"}, false)
		if c := thai.Turn.Cost; c.Arm != "" || c.Model != "adstudio-hermes" {
			t.Errorf("got the arm %q and the model %q where a rule leads elsewhere", c.Arm, c.Model)
		}
		for id, arm := range ids {
			resp, err := http.Get(r.url + "/ads/" + id)
			if err != nil {
				t.Fatal(err)
			}
			page, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := "rollout standard: " + strings.TrimPrefix(arm, "standard/"); !strings.Contains(string(page), want) {
				t.Errorf("got no %q on the page of an ad", want)
			}
			break
		}
	})
	for share, want := range map[string]struct {
		next int
		arm  func(before string) string
	}{
		"as it was": {50, func(before string) string { return before }},
		"all":       {100, func(string) string { return "standard/next" }},
	} {
		t.Run(share, func(t *testing.T) {
			p := p
			p.next = want.next
			r := p.start(t)
			for id, before := range ids {
				c := r.post(t, "/api/ads/"+id+"/chat", map[string]any{"message": "Make the music more upbeat"}, false).Turn.Cost
				if c.Arm != want.arm(before) || c.Model != models[c.Arm] {
					t.Errorf("got the arm %q and the model %q of an ad that began with %q", c.Arm, c.Model, before)
				}
			}
		})
	}
}

// TestForgotten holds that an ad goes on in a new conversation where the gateway has lost its
// store, and that the user is told.
func TestForgotten(t *testing.T) {
	t.Parallel()
	p := place{dir: t.TempDir()}
	id := ""
	t.Run("first", func(t *testing.T) {
		id = p.start(t).post(t, "/api/ai/generate", map[string]any{"brief": coffee, "language": "en", "market": "US"}, false).AdID
	})
	if err := os.Remove(filepath.Join(p.dir, "callgate.db")); err != nil {
		t.Fatal(err)
	}
	got := p.start(t).post(t, "/api/ads/"+id+"/chat", map[string]any{"message": "Make the music more upbeat"}, true)
	if !strings.Contains(got.Turn.Cost.Notes, "a new one has begun") {
		t.Errorf("got the note %q, want that a new conversation has begun", got.Turn.Cost.Notes)
	}
}
