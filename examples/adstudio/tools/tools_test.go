package tools_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/tools"
)

// shelf is an app that has one ad.
type shelf struct{ ad *ads.Ad }

func (s shelf) State(_ context.Context, id string) (ads.State, error) {
	if id != s.ad.ID {
		return ads.State{}, &ads.Error{Type: "not_found", Message: "There is no such ad.", Hint: "Look again."}
	}
	return s.ad.State(), nil
}

func (s shelf) Draft(ctx context.Context, id string, d ads.Draft) (ads.Draft, error) {
	if _, err := s.State(ctx, id); err != nil {
		return ads.Draft{}, err
	}
	return s.ad.Put(d)
}

// connect returns clients of the server: over streamable HTTP, and over pipes as stdio is.
func connect(t *testing.T, app tools.App) map[string]*mcp.ClientSession {
	t.Helper()
	web := httptest.NewServer(tools.Handler(app))
	t.Cleanup(web.Close)
	here, there := mcp.NewInMemoryTransports()
	if _, err := tools.NewServer(app).Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	all := map[string]*mcp.ClientSession{}
	for name, transport := range map[string]mcp.Transport{"http": &mcp.StreamableClientTransport{Endpoint: web.URL, DisableStandaloneSSE: true}, "pipe": here} {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { session.Close() })
		all[name] = session
	}
	return all
}

// TestTools calls each tool, with what is right and what is wrong, over both transports.
func TestTools(t *testing.T) {
	t.Parallel()
	ad, err := ads.New("A spot for Baan Coffee", "th", "TH", "standard")
	if err != nil {
		t.Fatal(err)
	}
	sessions := connect(t, shelf{ad})
	for _, tt := range []struct {
		name, tool, args string
		fails            bool
		want             []string // in the result's text
	}{
		{"voices", "search_voices", `{"language":"th","gender":"female","tone":"warm"}`, false, []string{`"id":"th_malee"`, `"total":`}},
		{"few", "search_voices", `{"language":"en","limit":1}`, false, []string{`"total":40`}},
		{"none", "search_voices", `{"language":"xx"}`, false, []string{`"voices":[]`, "Languages are th, en"}},
		{"no such tone", "search_voices", `{"language":"th","tone":"angry"}`, true, []string{"tone"}},
		{"no language", "search_voices", `{}`, true, []string{"language"}},
		{"voice", "create_voice_draft", `{"ad_id":"AD","voice_id":"th_malee","script":"สวัสดี"}`, false, []string{`"version":1`, "Malee, warm female voice", "สวัสดี"}},
		{"no voice", "create_voice_draft", `{"ad_id":"AD","voice_id":"th_male","script":"x"}`, true, []string{`"type":"invalid_arguments"`, "Did you mean th_malee"}},
		{"no words", "create_voice_draft", `{"ad_id":"AD","voice_id":"th_malee","script":" "}`, true, []string{"The script is empty"}},
		{"music", "create_music_draft", `{"ad_id":"AD","mood":"upbeat","genre":"pop","tempo_bpm":118,"duration_seconds":30}`, false, []string{`"title":"Upbeat pop, 118 BPM"`}},
		{"too fast", "create_music_draft", `{"ad_id":"AD","mood":"upbeat","genre":"pop","tempo_bpm":900,"duration_seconds":30}`, true, []string{"tempo_bpm"}},
		{"effect", "create_sfx_draft", `{"ad_id":"AD","description":"door chime","at_seconds":0,"duration_seconds":2}`, false, []string{`"title":"Door chime, at 0s"`}},
		{"another ad", "create_sfx_draft", `{"ad_id":"ad_other","description":"x","at_seconds":0,"duration_seconds":2}`, true, []string{`"not_found"`, "Look again"}},
		{"state", "get_current_state", `{"ad_id":"AD"}`, false, []string{`"market":"TH"`, `"voice_name":"Malee"`, `"tempo_bpm":118`, `"versions":{"music":1,"sfx":1,"voice":1}`}},
		{"no state", "get_current_state", `{"ad_id":"ad_other"}`, true, []string{`"not_found"`}},
		{"what nobody knows", "get_current_state", `{"ad_id":"AD","more":1}`, true, []string{"more"}},
	} {
		for transport, session := range sessions {
			args := json.RawMessage(strings.ReplaceAll(tt.args, `"AD"`, `"`+ad.ID+`"`))
			got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: args})
			if err != nil {
				t.Errorf("%s by %s: %v", tt.name, transport, err)
				continue
			}
			text := got.Content[0].(*mcp.TextContent).Text
			if got.IsError != tt.fails {
				t.Errorf("%s by %s: got failed %v, want %v: %s", tt.name, transport, got.IsError, tt.fails, text)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s by %s: got %s, want %s in it", tt.name, transport, text, want)
				}
			}
		}
	}
}

// TestHints holds what the server says of its tools: their names, and what they do to the
// world.
func TestHints(t *testing.T) {
	t.Parallel()
	for transport, session := range connect(t, shelf{&ads.Ad{}}) {
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			h := tool.Annotations
			if reads := !strings.HasPrefix(tool.Name, "create_"); h.ReadOnlyHint != reads || !h.IdempotentHint || *h.OpenWorldHint || !reads && *h.DestructiveHint {
				t.Errorf("%s: got the hints %+v", tool.Name, h)
			}
			if tool.Description == "" || tool.OutputSchema == nil {
				t.Errorf("%s: got no description, or no schema of its results", tool.Name)
			}
		}
		if want := []string{"create_music_draft", "create_sfx_draft", "create_voice_draft", "get_current_state", "search_voices"}; !slices.Equal(names, want) {
			t.Errorf("%s: got %q, want %q", transport, names, want)
		}
	}
}
