package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Target is the gateway under test.
type Target struct {
	BaseURL string // where its API begins, with its "/v1"
	Key     string // bearer key; "" sends none
	// Header is sent with every request, such as a project's or an account's, which the
	// gateway wants beside the key.
	Header http.Header
	// Model names the model whose text the gateway reads with a parser, such as
	// "hermes", "auto" or "none", and whose upstream is the suite's. With "-open"
	// behind the parser's name, the gateway is told that the prompt has begun the
	// model's reasoning. "" says that there is none: its cases are skipped. Where
	// Model is nil, the parser's name is the model's.
	Model func(parser string) string
	// Features are what the target claims; nil claims all.
	Features []string
	// Client sends the requests; nil is http.DefaultClient.
	Client *http.Client
}

func (t *Target) model(parser string) string {
	if t.Model == nil {
		return parser
	}
	return t.Model(parser)
}

func (t *Target) claims(feature string) bool {
	if feature == Keys && t.Key == "" {
		return false
	}
	return t.Features == nil || slices.Contains(t.Features, feature)
}

// exchange is one request of a case and the upstream's part in it.
type exchange struct {
	name   string
	stream bool
	asFile bool // the text is cut as the case's file cuts it
	exact  bool // the deltas are to be cut as in want/stream.jsonl
	single bool // the text comes rune by rune
	script script
}

// exchanges are the ways in which a case is run on a target. The text of a model
// must mean the same wherever it is cut.
func (c *Case) exchanges(t *Target) []exchange {
	whole, stream := c.Has(Chat) && t.claims(Chat), c.Has(Stream) && t.claims(Stream)
	var out []exchange
	add := func(name string, streamed bool, w *written) {
		s := script{model: w, http: c.HTTP, sse: c.SSE, again: c.Again, says: c.Says, path: c.endpoint(), speaks: speaks(c.Parser)}
		out = append(out, exchange{name: name, stream: streamed, script: s})
	}
	text := strings.Join(c.Model, "")
	switch {
	case c.Client != nil || c.Model == nil && c.RawRequest != nil:
		add("as it is", c.Want.RawData != nil || c.Want.Frames != nil, nil)
		return out
	case c.Model == nil:
		if whole {
			add("whole", false, nil)
		}
		if stream {
			add("stream", true, nil)
		}
		return out
	}
	if whole {
		add("whole", false, &written{deltas: []string{text}, finish: c.FinishReason})
	}
	if stream {
		add("stream, cut as in the file", true, &written{deltas: c.Model, finish: c.FinishReason, flush: true})
		out[len(out)-1].asFile, out[len(out)-1].exact = true, t.claims(Pieces)
		add("stream, rune by rune", true, &written{deltas: cut(text, 1), finish: c.FinishReason})
		out[len(out)-1].single = true
		add("stream, in sixes", true, &written{deltas: cut(text, 6), finish: c.FinishReason})
		add("stream, at once", true, &written{deltas: []string{text}, finish: c.FinishReason, last: true})
	}
	return out
}

// speaks is the protocol that the upstream of a model speaks beside chat completions: models
// that cases name by a protocol are of a server that has it.
func speaks(parser string) protocol {
	switch parser {
	case "responses":
		return responsesAPI
	case "messages":
		return messagesAPI
	}
	return chatAPI
}

// cut cuts s into pieces of n runes.
func cut(s string, n int) []string {
	var out []string
	for runes := range slices.Chunk([]rune(s), n) {
		out = append(out, string(runes))
	}
	return out
}

// body is the request that the client sends: the case's, with the model and what
// asks for a stream in front.
func (c *Case) body(model string, stream bool) []byte {
	if c.RawRequest != nil {
		return bytes.ReplaceAll(c.RawRequest, []byte("$MODEL"), []byte(strings.Trim(quote(model), `"`)))
	}
	rest := bytes.TrimSpace(c.Request)[1:]
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range c.added(model, stream) {
		fmt.Fprintf(&b, "%s:%s,", quote(m.name), m.value)
	}
	if trimmed := bytes.TrimSpace(rest); len(trimmed) > 0 && trimmed[0] == '}' && b.Len() > 1 {
		b.Truncate(b.Len() - 1)
	}
	b.Write(rest)
	return b.Bytes()
}

type member struct{ name, value string }

// added are the members that the suite adds to a request.
func (c *Case) added(model string, stream bool) []member {
	var has map[string]json.RawMessage
	_ = json.Unmarshal(c.Request, &has) // without members if it is no object
	var out []member
	add := func(name, value string) {
		if _, ok := has[name]; !ok {
			out = append(out, member{name, value})
		}
	}
	add("model", quote(model))
	if c.Client != nil {
		return out
	}
	if stream {
		add("stream", "true")
	}
	if stream && c.Model != nil && c.protocol() == chatAPI {
		add("stream_options", `{"include_usage":true}`)
	}
	return out
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 20

// answered is what the gateway answered.
type answered struct {
	status int
	header http.Header
	body   []byte
	cut    error // why the body ended before its end, or nil
}

// ask sends a request to the target and reads the answer to its end.
func (t *Target) ask(ctx context.Context, method, path string, body []byte, header map[string]string) (*answered, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(t.BaseURL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range t.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	if t.Key != "" {
		req.Header.Set("Authorization", "Bearer "+t.Key)
	}
	if protocolOf(path) == messagesAPI {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	client := t.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answered{status: resp.StatusCode, header: resp.Header}
	a.body, a.cut = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return a, nil
}
