// Package probe finds out what an OpenAI-compatible server is, and what it does with tools. It
// sends a handful of requests, of which at most two cost tokens.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/callgate/callgate/gateway/internal/toolway"
	"github.com/callgate/callgate/internal/plaintext"
)

// Prober asks one server.
type Prober struct {
	HTTP *http.Client
	Base *url.URL // with its version: http://127.0.0.1:8000/v1
	Key  string   // "" for none
	// Read is the parser that finds a call in a text, and the name of the tool it calls; "" if
	// there is none.
	Read func(ctx context.Context, text, model string) (parser, tool string)
}

// ErrKey is in the error of a server that refuses the key, or that there is none.
var ErrKey = errors.New("wants a key")

// NoAPIError is a server that answers, but with no list of models.
type NoAPIError struct {
	Asked  string // its URL of models
	Status int
	// API is the base URL at which it has a list; "" if none was found.
	API  string
	said string
}

func (e *NoAPIError) Error() string {
	switch {
	case e.Status == http.StatusOK:
		return fmt.Sprintf("GET %s answers with status 200 and no list of models", e.Asked)
	case e.said != "":
		return fmt.Sprintf("GET %s answers with status %d: %s", e.Asked, e.Status, e.said)
	}
	return fmt.Sprintf("GET %s answers with status %d, not with a list of models", e.Asked, e.Status)
}

// Remedy says what to do.
func (e *NoAPIError) Remedy() string {
	switch {
	case e.API != "":
		return "its API is at " + e.API + ": write that"
	case e.Status == http.StatusTooManyRequests:
		return "the server asks to wait: try again later"
	case e.Status >= http.StatusInternalServerError:
		return "the server fails, or loads its model yet: see its log, and ask again"
	}
	return "the server runs, but has no OpenAI-compatible API at this address: write the base URL under which it has /models and /chat/completions, which its documents name"
}

// Report is what was found out.
type Report struct {
	Software, Version string   // "vllm", "sglang", "llama.cpp", "ollama", "tgi", "lmstudio"; "" if nobody knows
	Models            []string // the first of them is asked
	Context           int      // tokens of the first model, where the server says it; else 0
	Tools             Tools
	// Said is the server's own word, where it refuses tools or the request fails.
	Said string
	// Parser is the format of a call that came as text or, with Silent and Refuses, that of the
	// model's family, in which tools can stand in the prompt.
	Parser string
}

// Tools is what a server does with a request that offers one.
type Tools uint8

// What servers do.
const (
	Unknown Tools = iota // nothing was asked, or it failed; Said says why
	Calls                // it gives calls
	Text                 // it gives the model's text, with a call in it
	Silent               // it gives text without a call
	Raw                  // it refuses tools, and gives text with a call where that is asked for
	Refuses              // it refuses tools
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 4 << 20

// Ask probes the server. model is the one to ask; "" is the first that the server lists. An error
// is one of the connection, or says that nothing there is OpenAI's API.
func (p *Prober) Ask(ctx context.Context, model string) (*Report, error) {
	r := &Report{}
	if err := p.models(ctx, r); err != nil {
		return nil, err
	}
	p.software(ctx, r)
	if model = cmp.Or(model, append(r.Models, "")[0]); model == "" {
		r.Said = "the server lists no models: name one"
		return r, nil
	}
	if err := p.tools(ctx, r, model); err != nil {
		return nil, err
	}
	return r, nil
}

// models reads the list of models, whose owner most servers use for their own name.
func (p *Prober) models(ctx context.Context, r *Report) error {
	asked := p.Base.JoinPath("models")
	status, body, err := p.get(ctx, asked)
	if err != nil {
		return err
	}
	var list modelList
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%s %w (status %d)", p.Base, ErrKey, status)
	case !list.read(status, body):
		e := &NoAPIError{Asked: asked.Redacted(), Status: status}
		if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
			e.said = words(body)
		} else {
			e.API = p.elsewhere(ctx)
		}
		return e
	}
	for _, m := range list.Data {
		r.Models = append(r.Models, m.ID)
	}
	if len(list.Data) > 0 {
		r.Context = cmp.Or(list.Data[0].Length, list.Data[0].Meta.Length)
		r.Software = owners[strings.ToLower(list.Data[0].OwnedBy)]
	}
	return nil
}

// modelList is what /models gives.
type modelList struct {
	Data []struct {
		ID      string `json:"id"`
		OwnedBy string `json:"owned_by"`
		Length  int    `json:"max_model_len"`
		Meta    struct {
			Length int `json:"n_ctx_train"`
		} `json:"meta"`
	} `json:"data"`
}

// read reports whether an answer is a list.
func (l *modelList) read(status int, body []byte) bool {
	return status == http.StatusOK && json.Unmarshal(body, l) == nil && l.Data != nil
}

// elsewhere looks for the API of a server at the addresses that people mean who write another one: with the path of an
// endpoint, without the version, or with one that is too much. "" if it is at none of them.
func (p *Prober) elsewhere(ctx context.Context) string {
	path := strings.TrimRight(p.Base.Path, "/")
	for _, endpoint := range []string{"/chat/completions", "/completions", "/responses", "/messages", "/embeddings", "/models"} {
		path = strings.TrimSuffix(path, endpoint)
	}
	tried := map[string]bool{p.Base.Path: true}
	for _, other := range []string{path, path + "/v1", strings.TrimSuffix(path, "/v1"), "/v1"} {
		if tried[other] {
			continue
		}
		tried[other] = true
		at := *p.Base
		at.Path, at.RawPath = other, ""
		var list modelList
		if status, body, err := p.get(ctx, at.JoinPath("models")); err == nil && list.read(status, body) {
			return at.Redacted()
		}
	}
	return ""
}

// owners are the values of owned_by by which servers name themselves: vllm/entrypoints/openai,
// sglang/srt/entrypoints, llama.cpp's server.cpp, ollama's openai/openai.go, LM Studio.
var owners = map[string]string{"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama", "organization_owner": "lmstudio"} //nolint:gochecknoglobals // a table

// marks are paths beside /v1 that one server alone has, and a member of the answer.
var marks = []struct{ software, path, member, version string }{ //nolint:gochecknoglobals // a table
	{"ollama", "api/version", "version", "version"},
	{"llama.cpp", "props", "default_generation_settings", "build_info"},
	{"sglang", "get_server_info", "tp_size", "version"},
	{"tgi", "info", "model_id", "version"},
	{"vllm", "version", "version", "version"},
}

// software asks for what one server alone has.
func (p *Prober) software(ctx context.Context, r *Report) {
	root := *p.Base
	root.Path = strings.TrimSuffix(strings.TrimSuffix(root.Path, "/"), "/v1")
	for _, m := range marks {
		if r.Software != "" && r.Software != m.software {
			continue
		}
		status, body, err := p.get(ctx, root.JoinPath(m.path))
		var said map[string]json.RawMessage
		if err != nil || status != http.StatusOK || json.Unmarshal(body, &said) != nil || said[m.member] == nil {
			continue
		}
		r.Software = m.software
		_ = json.Unmarshal(said[m.version], &r.Version) // a version that is no text is none
		return
	}
}

// question is one that every model answers by a call, if it can.
const question = `{"model":%s,"max_tokens":512,"temperature":0%s,"messages":[{"role":"user","content":"What is the weather in Oslo? Use the tool."}],` +
	`"tools":[{"type":"function","function":{"name":"get_weather","description":"Get the current weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`

// tools asks a model for a call: as clients do and, if the server refuses that, for the model's
// text.
func (p *Prober) tools(ctx context.Context, r *Report, model string) error {
	a, err := p.chat(ctx, model, "")
	if err != nil {
		return err
	}
	if a.refusal == nil {
		r.Tools, r.Parser = a.read(ctx, p.Read, model)
		return nil
	}
	r.Said, r.Tools = a.said, Unknown
	refusal, refused := toolway.Refused(a.refusal, true)
	if !refused {
		return nil
	}
	r.Tools, r.Parser, r.Software = Refuses, toolway.Format(model), cmp.Or(r.Software, refusal.Server)
	if refusal.Way != toolway.Raw {
		return nil
	}
	if a, err = p.chat(ctx, model, `,"tool_choice":"none","skip_special_tokens":false`); err != nil {
		return err
	}
	if tools, parser := a.read(ctx, p.Read, model); a.refusal == nil && tools == Text {
		r.Tools, r.Parser = Raw, parser
	}
	return nil
}

// answer is what a chat completion gave.
type answer struct {
	refusal []byte // nil: it is none
	said    string
	calls   int
	text    string
}

func (a *answer) read(ctx context.Context, read func(ctx context.Context, text, model string) (string, string), model string) (Tools, string) {
	if a.calls > 0 {
		return Calls, ""
	}
	if parser, tool := read(ctx, a.text, model); tool == "get_weather" {
		return Text, parser
	}
	return Silent, toolway.Format(model)
}

func (p *Prober) chat(ctx context.Context, model, more string) (*answer, error) {
	name, _ := json.Marshal(model) // a string cannot fail
	status, body, err := p.do(ctx, http.MethodPost, p.Base.JoinPath("chat/completions"), fmt.Sprintf(question, name, more))
	if err != nil {
		return nil, err
	}
	if status/100 != 2 {
		return &answer{refusal: body, said: message(status, body)}, nil
	}
	var whole struct {
		Choices []struct {
			Message struct {
				Content   string            `json:"content"`
				ToolCalls []json.RawMessage `json:"tool_calls"`
			} `json:"message"`
		} `json:"choices"`
	}
	if _ = json.Unmarshal(body, &whole); len(whole.Choices) == 0 { // also of what is no JSON
		return &answer{refusal: []byte{}, said: "the answer is no chat completion"}, nil
	}
	m := whole.Choices[0].Message
	return &answer{calls: len(m.ToolCalls), text: m.Content}, nil
}

// message is what a server says of a failure, in one line.
func message(status int, body []byte) string {
	return cmp.Or(words(body), fmt.Sprintf("status %d", status))
}

// words are those of an error's body, in one line; "" if it has none.
func words(body []byte) string {
	var said struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &said) // else it is empty
	var inner struct {
		Message string `json:"message"`
	}
	text := said.Message
	if json.Unmarshal(said.Error, &inner) == nil {
		text = cmp.Or(inner.Message, text)
	} else {
		_ = json.Unmarshal(said.Error, &text)
	}
	const most = 300
	return plaintext.Excerpt(plaintext.Line(text), most)
}

func (p *Prober) get(ctx context.Context, u *url.URL) (int, []byte, error) {
	return p.do(ctx, http.MethodGet, u, "")
}

func (p *Prober) do(ctx context.Context, method string, u *url.URL, body string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.Key != "" {
		req.Header.Set("Authorization", "Bearer "+p.Key)
	}
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}
