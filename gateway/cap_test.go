package gateway_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestCapped holds what becomes of requests of a key that may ask for 100 output tokens.
func TestCapped(t *testing.T) {
	t.Parallel()
	const head = `{"model":"m","messages":[]`
	for _, tt := range []struct{ body, want, param string }{
		{``, `"max_completion_tokens":100,`, ""},
		{`,"max_tokens":100`, "", ""},
		{`,"max_completion_tokens":1`, "", ""},
		{`,"max_tokens":null,"max_completion_tokens":null`, `"max_completion_tokens":100`, ""},
		{`,"n":3`, `"max_completion_tokens":33,`, ""},
		{`,"n":null`, `"max_completion_tokens":100,`, ""},
		{`,"n":2,"max_tokens":50`, "", ""},
		{`,"max_tokens":101`, "", "max_tokens"},
		{`,"max_completion_tokens":9223372036854775808`, "", "max_completion_tokens"},
		{`,"max_tokens":1,"max_completion_tokens":101`, "", "max_completion_tokens"},
		{`,"max_tokens":1,"MAX_TOKENS":101`, "", "MAX_TOKENS"},
		{`,"max_tok\u0065ns":101`, "", "max_tokens"},
		{`,"max_tokens":1,"n_predict":-1`, "", "n_predict"},
		{`,"max_tokens":0`, "", "max_tokens"},
		{`,"max_tokens":"7"`, "", "max_tokens"},
		{`,"max_tokens":1e1`, "", "max_tokens"},
		{`,"max_tokens":51,"n":2`, "", "max_tokens"},
		{`,"n":101`, "", "n"},
		{`,"n":9223372036854775807,"max_tokens":2`, "", "n"},
		{`,"n":0`, "", "n"},
	} {
		r, err := gateway.ParseRequest([]byte(head + tt.body + "}"))
		if err != nil {
			t.Fatal(err)
		}
		r.From.Client = &gateway.Client{Key: "dev", MaxTokens: 100}
		out, err := r.Capped()
		if tt.param != "" {
			if e := gateway.AsError(err); err == nil || e.Param != tt.param || e.HTTPStatus() != 400 || !strings.Contains(e.Message, `the key "dev"`) {
				t.Errorf("%s: got error %v, want one of %s", tt.body, err, tt.param)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: got error %v", tt.body, err)
			continue
		}
		if tt.want == "" && out != r || !strings.Contains(string(out.Body.Bytes()), tt.want) || (len(out.Warnings) == 1) != (tt.want != "") {
			t.Errorf("%s: got %s, %q, want %s in it", tt.body, out.Body.Bytes(), out.Warnings, tt.want)
		}
		again, err := r.Again([]byte(head+`}`), nil)
		if err != nil || !strings.Contains(string(again.Body.Bytes()), `"max_completion_tokens":100,`) {
			t.Errorf("got %s, error %v, want the cap in what is asked again", again.Body.Bytes(), err)
		}
	}
}

// TestBounded holds that a request of completions asks for as many answers as it has prompts, each of them with all its choices.
func TestBounded(t *testing.T) {
	t.Parallel()
	for body, param := range map[string]string{
		`{"prompt":"one, two"}`:                                            "max_tokens",
		`{"prompt":"one","max_tokens":100}`:                                "",
		`{"prompt":["one"],"max_tokens":100}`:                              "",
		`{"prompt":["one","two"],"max_tokens":50}`:                         "",
		`{"prompt":["one","two"],"max_tokens":51}`:                         "max_tokens",
		`{"prompt":["one","two"],"max_tokens":26,"n":2}`:                   "max_tokens",
		`{"prompt":["one","two"],"max_tokens":25,"n":2}`:                   "",
		`{"prompt":[1,2,3,4],"max_tokens":100}`:                            "", // the tokens of one
		`{"prompt":[[1,2],[3,4]],"max_tokens":51}`:                         "max_tokens",
		`{"Prompt":["one","two"],"max_tokens":51}`:                         "max_tokens",
		`{"prompt":[` + strings.Repeat(`"",`, 100) + `""],"max_tokens":1}`: "prompt",
		`{"prompt":null,"max_tokens":100}`:                                 "",
	} {
		r, err := gateway.ParseRequest([]byte(`{"model":"m",` + body[1:]))
		if err != nil {
			t.Fatal(err)
		}
		r.From.Client = &gateway.Client{Key: "dev", MaxTokens: 100}
		if err := r.Bounded(true); (err != nil) != (param != "") || err != nil && gateway.AsError(err).Param != param {
			t.Errorf("%.60s: got error %v, want one of %q", body, err, param)
		}
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	all := &gateway.Client{Models: [][]string{nil, nil}}
	team := &gateway.Client{Key: "dev", Models: [][]string{{"gpt-*", "x"}, {"*-4o", "x"}}, Tools: [][]string{{"a__*"}, nil}, Arms: []string{"r/*"}}
	none := &gateway.Client{Models: [][]string{{}}}
	var nobody *gateway.Client
	for model, want := range map[string][4]bool{"gpt-4o": {true, true, false, true}, "gpt-4": {true, false, false, true}, "claude-4o": {true, false, false, true}, "x": {true, true, false, true}} {
		if got := [4]bool{all.MayAsk(model), team.MayAsk(model), none.MayAsk(model), nobody.MayAsk(model)}; got != want {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
	if !team.MayCall("a__b") || team.MayCall("b__a") || !nobody.MayCall("b__a") || !team.MayChoose("r/new") || all.MayChoose("r/new") || !nobody.MayChoose("r/new") {
		t.Error("got another answer for tools or arms")
	}
	if e := team.CheckModel("gpt-4"); e == nil || e.HTTPStatus() != 403 || e.CodeOrDefault() != "model_not_found" {
		t.Errorf("got %v", e)
	}
}
