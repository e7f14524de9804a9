package demo_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAdStudio plays the rounds of an ad: what is called next follows from what the tools have
// said, whether a gateway has put that into an object of its own or not.
func TestAdStudio(t *testing.T) {
	t.Parallel()
	var tools []string
	for name, properties := range map[string]string{
		"search_voices": `"language":{},"tone":{},"gender":{}`, "get_current_state": `"ad_id":{}`, "create_voice_draft": `"ad_id":{},"voice_id":{}`,
		"create_music_draft": `"ad_id":{},"tempo_bpm":{}`, "create_sfx_draft": `"ad_id":{},"description":{}`,
	} {
		tools = append(tools, `{"type":"function","function":{"name":"studio__`+name+`","parameters":{"type":"object","properties":{`+properties+`}}}}`)
	}
	const voices = `{"voices":[{"id":"th_malee","name":"Malee"}]}`
	for _, tt := range []struct {
		name, prompt string
		earlier      bool
		rounds       []map[string]string // results by the ends of the tools' names, in turn
		want         string              // calls of the round behind them, or a part of the answer
	}{
		{"first", "Ad ad_7f, language th.\n\nA warm spot for Baan", false, nil, `get_current_state{"ad_id":"ad_7f"} search_voices{"language":"th","tone":"warm"}`},
		{"voice", "Ad ad_7f.\n\nA spot", false, []map[string]string{{"search_voices": `{"result":` + voices + `}`}}, `create_voice_draft{"ad_id":"ad_7f","voice_id":"th_malee"}`},
		{"as text in an envelope", "Ad ad_7f.\n\nA spot", false, []map[string]string{{"search_voices": `{"server":"studio","result":` + quoted(voices) + `}`}}, `create_voice_draft{"ad_id":"ad_7f","voice_id":"th_malee"}`},
		{"less", "Ad ad_7f.\n\nA calm woman", false, []map[string]string{{"search_voices": `{"voices":[]}`}}, `search_voices{"language":"en","gender":"female"}`},
		{"parts", "Ad ad_7f.\n\nA calm spot for coffee", false, []map[string]string{{"search_voices": voices}, {"create_voice_draft": `{"draft":{}}`}}, `create_music_draft{"ad_id":"ad_7f","tempo_bpm":72} create_sfx_draft{"ad_id":"ad_7f","description":"espresso machine and cups"}`},
		{"change", "Ad ad_7f.\n\nMake the music more upbeat", true, []map[string]string{{"get_current_state": `{"music":{"tempo_bpm":100}}`}}, `create_music_draft{"ad_id":"ad_7f","tempo_bpm":124}`},
		{"said", "Ad ad_7f.\n\nMake the music more upbeat", true, []map[string]string{{"get_current_state": `{}`}, {"create_music_draft": `{"draft":{"kind":"music","version":2,"title":"Upbeat pop"}}`}}, "- Music 2: Upbeat pop"},
		{"refused", "Ad ad_7f.\n\nMake the music calm", true, []map[string]string{{"get_current_state": `{}`}, {"create_music_draft": `{"error":{"type":"timeout","message":"It took too long."}}`}}, "This did not work:\n\n- It took too long."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			messages := []map[string]any{}
			if tt.earlier {
				messages = append(messages, map[string]any{"role": "user", "content": "Ad ad_7f.\n\nx"}, map[string]any{"role": "assistant", "content": "y"})
			}
			messages = append(messages, map[string]any{"role": "user", "content": tt.prompt})
			for _, round := range tt.rounds {
				for name, result := range round {
					call := map[string]any{"id": name, "type": "function", "function": map[string]any{"name": "studio__" + name, "arguments": "{}"}}
					messages = append(messages, map[string]any{"role": "assistant", "tool_calls": []any{call}}, map[string]any{"role": "tool", "tool_call_id": name, "content": result})
				}
			}
			text, err := json.Marshal(messages)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, chat(t.Context(), t, fast(), "adstudio", `{"model":"m","messages":`+string(text)+`,"tools":[`+strings.Join(tools, ",")+`]}`))
			var calls []string
			for _, c := range got.ToolCalls {
				calls = append(calls, strings.TrimPrefix(c.Function.Name, "studio__")+c.Function.Arguments)
			}
			if said := strings.Join(calls, " "); said != tt.want && (said != "" || !strings.Contains(got.Content, tt.want)) {
				t.Errorf("got %s and %q, want %s", said, got.Content, tt.want)
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string has no error
	return string(b)
}
