// Package tools is the MCP server of the ad studio: a search in the catalogue of voices, and
// drafts, which it keeps in the app.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/examples/adstudio/ads"
	"github.com/callgate/callgate/examples/adstudio/voices"
)

const (
	defaultFound = 5
	maxFound     = 20
)

// NewServer returns the server, for any transport.
func NewServer(app App) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "adstudio", Title: "Ad studio", Version: "1.0.0"}, &mcp.ServerOptions{
		Instructions: "Drafts of radio ads. Search a voice before drafting with it; drafts become versions that the user reviews.",
		Capabilities: &mcp.ServerCapabilities{}, // tools, and nothing else
	})
	add(s, reads("search_voices", "Search voices", "Search the catalogue of voices. Language first; every other condition narrows. Returns ids for create_voice_draft."), search)
	add(s, reads("get_current_state", "Current state", "The ad as it is now: brief, market, budget, and the current draft of voice, music and effects with its version."),
		func(ctx context.Context, in stateIn) (ads.State, error) { return app.State(ctx, in.AdID) })
	add(s, writes("create_voice_draft", "Draft the voice", "Make the next version of the ad's voice: who reads, and the words. The same draft twice is one version."),
		func(ctx context.Context, in voiceIn) (draftOut, error) { return draftVoice(ctx, app, in) })
	add(s, writes("create_music_draft", "Draft the music", "Make the next version of the ad's music. To refine, read the state and change what was asked for. The same draft twice is one version."),
		func(ctx context.Context, in musicIn) (draftOut, error) {
			return draft(ctx, app, in.AdID, ads.Draft{
				Kind: ads.Music, Title: fmt.Sprintf("%s %s, %d BPM", title(in.Mood), in.Genre, in.TempoBPM), Note: in.Note,
				Mood: in.Mood, Genre: in.Genre, TempoBPM: in.TempoBPM, DurationSeconds: in.DurationSeconds,
			})
		})
	add(s, writes("create_sfx_draft", "Draft an effect", "Make the next version of the ad's sound effect. The same draft twice is one version."),
		func(ctx context.Context, in sfxIn) (draftOut, error) {
			return draft(ctx, app, in.AdID, ads.Draft{
				Kind: ads.SFX, Title: fmt.Sprintf("%s, at %gs", title(in.Description), in.AtSeconds), Note: in.Note,
				Description: in.Description, AtSeconds: in.AtSeconds, DurationSeconds: in.DurationSeconds,
			})
		})
	return s
}

// Handler serves the tools over streamable HTTP.
func Handler(app App) http.Handler {
	s := NewServer(app)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

type searchIn struct {
	Language   string `json:"language" jsonschema:"ISO 639 code of the language that is spoken: th, en, id …"`
	Gender     string `json:"gender,omitempty"`
	Age        string `json:"age,omitempty"`
	Tone       string `json:"tone,omitempty"`
	Accent     string `json:"accent,omitempty" jsonschema:"a part of the accent's name: Isan, Scottish, Mexican"`
	Provider   string `json:"provider,omitempty"`
	Market     string `json:"market,omitempty" jsonschema:"ISO 3166 code of the country that the voice must be licensed for"`
	PriceClass string `json:"price_class,omitempty" jsonschema:"budget and standard for standard budgets, premium only for premium ones"`
	Query      string `json:"query,omitempty" jsonschema:"words that must stand in the voice's entry"`
	Limit      int    `json:"limit,omitempty" jsonschema:"how many to return; 5"`
}

type searchOut struct {
	Voices []found `json:"voices"`
	Total  int     `json:"total" jsonschema:"how many fit"`
	Hint   string  `json:"hint,omitempty" jsonschema:"what to search for instead"`
}

// found is what a model needs of a voice.
type found struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Gender     string   `json:"gender"`
	Age        string   `json:"age"`
	Tone       string   `json:"tone"`
	Accent     string   `json:"accent"`
	PriceClass string   `json:"price_class"`
	BestFor    []string `json:"best_for"`
}

type stateIn struct {
	AdID string `json:"ad_id" jsonschema:"the ad's id, ad_…, from the user's message"`
}

type voiceIn struct {
	AdID    string `json:"ad_id" jsonschema:"the ad's id, ad_…, from the user's message"`
	VoiceID string `json:"voice_id" jsonschema:"an id that search_voices has returned"`
	Script  string `json:"script" jsonschema:"the words, in the ad's language"`
	Note    string `json:"note,omitempty" jsonschema:"direction for the reader"`
}

type musicIn struct {
	AdID            string  `json:"ad_id" jsonschema:"the ad's id, ad_…, from the user's message"`
	Mood            string  `json:"mood" jsonschema:"one word or two: upbeat, calm, warm"`
	Genre           string  `json:"genre" jsonschema:"pop, jazz, acoustic folk …"`
	TempoBPM        int     `json:"tempo_bpm"`
	DurationSeconds float64 `json:"duration_seconds"`
	Note            string  `json:"note,omitempty"`
}

type sfxIn struct {
	AdID            string  `json:"ad_id" jsonschema:"the ad's id, ad_…, from the user's message"`
	Description     string  `json:"description" jsonschema:"what is heard"`
	AtSeconds       float64 `json:"at_seconds" jsonschema:"when, from the ad's beginning"`
	DurationSeconds float64 `json:"duration_seconds"`
	Note            string  `json:"note,omitempty"`
}

type draftOut struct {
	Draft ads.Draft `json:"draft"`
}

func search(_ context.Context, in searchIn) (searchOut, error) {
	list, hint := voices.Search(voices.Query{
		Language: in.Language, Gender: in.Gender, Age: in.Age, Tone: in.Tone, Accent: in.Accent,
		Provider: in.Provider, Market: in.Market, PriceClass: in.PriceClass, Text: in.Query,
	})
	out := searchOut{Voices: []found{}, Total: len(list), Hint: hint}
	limit := in.Limit
	if limit == 0 {
		limit = defaultFound
	}
	for _, v := range list[:min(len(list), limit)] {
		out.Voices = append(out.Voices, found{v.ID, v.Name, v.Gender, v.Age, v.Tone, v.Accent, v.PriceClass, v.BestFor})
	}
	return out, nil
}

func draftVoice(ctx context.Context, app App, in voiceIn) (draftOut, error) {
	v, ok := voices.Find(in.VoiceID)
	if !ok {
		return draftOut{}, &ads.Error{Type: "invalid_arguments", Message: fmt.Sprintf("There is no voice %q.", in.VoiceID), Hint: meant(in.VoiceID)}
	}
	if strings.TrimSpace(in.Script) == "" {
		return draftOut{}, &ads.Error{Type: "invalid_arguments", Message: "The script is empty.", Hint: "Write the words that the voice reads."}
	}
	return draft(ctx, app, in.AdID, ads.Draft{
		Kind: ads.Voice, Title: fmt.Sprintf("%s, %s %s voice", v.Name, v.Tone, v.Gender), Note: in.Note, VoiceID: v.ID, VoiceName: v.Name, Script: in.Script,
	})
}

// meant suggests ids for one that is none.
func meant(id string) string {
	if near := voices.Near(id); len(near) > 0 {
		return "Did you mean " + strings.Join(near, ", ") + "? Otherwise call search_voices."
	}
	return "Call search_voices for ids."
}

func draft(ctx context.Context, app App, id string, d ads.Draft) (draftOut, error) {
	made, err := app.Draft(ctx, id, d)
	return draftOut{made}, err
}

// title is a text with a capital at its beginning.
func title(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}

// reads is a tool that changes nothing and asks nobody outside.
func reads(name, title, description string) *mcp.Tool {
	inside := false
	return &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &inside}}
}

// writes is a tool that adds a version, and none if it is called again.
func writes(name, title, description string) *mcp.Tool {
	no := false
	return &mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}}
}

// add adds a tool whose errors are results that a model can read.
func add[In, Out any](s *mcp.Server, t *mcp.Tool, run func(context.Context, In) (Out, error)) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // a type of this file
	}
	narrow(schema)
	t.InputSchema = schema
	mcp.AddTool(s, t, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := run(ctx, in)
		if err != nil {
			err = failure{ads.AsError(err)}
		}
		return nil, out, err
	})
}

// failure is an error whose text is JSON, which a model reads better than a sentence.
type failure struct {
	of *ads.Error
}

func (f failure) Error() string {
	text, err := json.Marshal(map[string]any{"error": f.of})
	if err != nil {
		return f.of.Error()
	}
	return string(text)
}

// narrow says in a schema what Go's types cannot.
func narrow(s *jsonschema.Schema) {
	enums := map[string][]string{"gender": voices.Genders, "age": voices.Ages, "tone": voices.Tones, "price_class": voices.PriceClasses}
	ranges := map[string][2]float64{
		"limit": {1, maxFound}, "tempo_bpm": {40, 220}, "at_seconds": {0, 120}, "duration_seconds": {0.5, 120},
	}
	for name, p := range s.Properties {
		for _, v := range enums[name] {
			p.Enum = append(p.Enum, v)
		}
		if r, ok := ranges[name]; ok {
			p.Minimum, p.Maximum = &r[0], &r[1]
		}
		switch name {
		case "script":
			most := ads.MaxText
			p.MaxLength = &most
		case "mood", "genre", "description", "note", "query", "accent":
			most := 200
			p.MaxLength = &most
		}
	}
}
