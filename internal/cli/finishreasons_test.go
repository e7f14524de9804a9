package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestFinishReasons has finish reasons that servers write and OpenAI does not. A client of chat completions gets them
// as they came; in the other protocols an answer that a filter or a limit has cut is none that the model has ended, and one
// in which the server has thrown the model's call away is an error.
func TestFinishReasons(t *testing.T) {
	t.Parallel()
	url := upstream(t, func(w http.ResponseWriter, r received) {
		_, finish, _ := strings.Cut(r.body, `"user","content":"`)
		finish, _, _ = strings.Cut(finish, `"`)
		const said = `"content":"half of"},"finish_reason":%q}]`
		if strings.Contains(r.body, `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"id":"c","choices":[{"index":0,"delta":{`+said+"}\n\ndata: [DONE]\n\n", finish)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+said+`}`, finish)
	})
	g := serve(t, "providers: {up: {type: openai, base_url: \""+url+"\", retry: {max_retries: 0}}}\nmodels: {m: {targets: [{provider: up}]}}\n")
	const refusal, length, failure = "content_filter", "max_output_tokens", "upstream_cut"
	for finish, want := range map[string]string{
		"sensitive": refusal, "RECITATION": refusal, "PROHIBITED_CONTENT": refusal, "BLOCKLIST": refusal, "SPII": refusal, "LANGUAGE": refusal,
		"ERROR_TOXIC": refusal, "guardrail_intervened": refusal, "SAFETY": refusal, "content_filter: RECITATION": refusal,
		"model_context_window_exceeded": length, "model_length": length, "MAX_TOKENS": length,
		"UNEXPECTED_TOOL_CALL": failure, "TOO_MANY_TOOL_CALLS": failure, "MISSING_THOUGHT_SIGNATURE": failure, "MALFORMED_RESPONSE": failure, "network_error": failure,
		"COMPLETE": "", "eos_token": "", "STOP": "", "end_turn": "",
	} {
		for _, streamed := range []bool{false, true} {
			chat := g.chat(fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, streamed, finish))
			if !strings.Contains(chat.body, fmt.Sprintf(`"finish_reason":%q`, finish)) {
				t.Errorf("%s stream %v: a client of chat completions got %s", finish, streamed, chat.body)
			}
			message := g.messages(fmt.Sprintf(`{"model":"m","max_tokens":9,"stream":%v,"messages":[{"role":"user","content":%q}]}`, streamed, finish))
			has := map[string]string{refusal: `"stop_reason":"refusal"`, length: `"stop_reason":"max_tokens"`, failure: `"type":"error"`, "": `"stop_reason":"end_turn"`}[want]
			if !strings.Contains(message.body, has) {
				t.Errorf("%s stream %v: a client of Messages got %s, want %s", finish, streamed, message.body, has)
			}
			response := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","stream":%v,"input":%q}`, streamed, finish)))
			switch has = `"incomplete_details":{"reason":"` + want + `"}`; want {
			case failure:
				has = failure
			case "":
				has = `"status":"completed"`
			}
			if !strings.Contains(response.body, has) {
				t.Errorf("%s stream %v: a client of Responses got %s, want %s", finish, streamed, response.body, has)
			}
		}
	}
}

// TestMalformedBehindFilter has Gemini's finish reason for a call that it could not read, behind the name of a filter: it
// is the failed attempt that it is without.
func TestMalformedBehindFilter(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"MALFORMED_FUNCTION_CALL", "function_call_filter: MALFORMED_FUNCTION_CALL"} {
		asked := make(chan bool, 2)
		url := upstream(t, func(w http.ResponseWriter, _ received) {
			asked <- true
			w.Header().Set("Content-Type", "application/json")
			if len(asked) > 1 {
				finish = "stop"
			}
			io.WriteString(w, fmt.Sprintf(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":%q}]}`, strings.Repeat("x", len(asked)-1), finish))
		})
		g := serve(t, "providers: {up: {type: openai, base_url: \""+url+"\", retry: {max_retries: 1}}}\nmodels: {m: {targets: [{provider: up}]}}\n")
		r := g.messages(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`)
		if len(asked) != 2 || !strings.Contains(r.body, `"text":"x"`) {
			t.Errorf("got %d requests and %s, want a second one", len(asked), r.body)
		}
	}
}
