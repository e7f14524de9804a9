package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
	"github.com/callgate/callgate/providers/openai"
)

// canned is an upstream that gives the same answer at once.
type canned struct {
	contentType string
	body        []byte
}

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {c.contentType}}, ContentLength: int64(len(c.body)),
		Body: io.NopCloser(bytes.NewReader(c.body)),
	}, nil
}

// exchange is a request and its answer in both wires.
type exchange struct {
	name              string
	request           []byte
	stream            bool
	parts             int // that the time is given for
	openai, anthropic []byte
}

// streamDeltas is how many deltas the streams have.
const streamDeltas = 1000

func exchanges() []exchange {
	whole := []byte(completion(modelClean, modelAnswer(modelClean)))
	message := []byte(`{"id":"msg_bench","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":` +
		quoted(prose(1<<10)) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":200,"output_tokens":200}}`)
	text, call := prose(streamDeltas*deltaSize), longArguments(streamDeltas*deltaSize)
	return []exchange{
		{"1 KB each way, whole", request(modelClean, false, 1<<10), false, 1, whole, message},
		{"a streamed delta of text", request(modelClean, true, 1<<10), true, streamDeltas,
			openaiStream(modelClean, text),
			messageStream(`{"type":"text","text":""}`, `{"type":"text_delta","text":%s}`, "end_turn", text)},
		{"a streamed delta of a call", request(modelNative, true, 1<<10), true, streamDeltas,
			openaiStream(modelNative, call),
			messageStream(`{"type":"tool_use","id":"toolu_bench","name":"write_file","input":{}}`,
				`{"type":"input_json_delta","partial_json":%s}`, "tool_use", call)},
	}
}

// openaiStream is what a model says as a stream of OpenAI's.
func openaiStream(model, text string) []byte {
	var b bytes.Buffer
	for _, data := range streamed(model, text, streamDeltas) {
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// messageStream is text as a stream of Anthropic's: a block, with a delta for each
// piece.
func messageStream(block, delta, reason, text string) []byte {
	var b bytes.Buffer
	event := func(data string) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, data)
	}
	event(`{"type":"message_start","message":{"id":"msg_bench","type":"message","role":"assistant","model":"claude","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":200,"output_tokens":1}}}`)
	event(`{"type":"content_block_start","index":0,"content_block":` + block + `}`)
	for i := streamDeltas; i > 0; i-- {
		n := len(text) / i
		event(`{"type":"content_block_delta","index":0,"delta":` + fmt.Sprintf(delta, quoted(text[:n])) + `}`)
		text = text[n:]
	}
	event(`{"type":"content_block_stop","index":0}`)
	event(`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":200}}`)
	event(`{"type":"message_stop"}`)
	return b.Bytes()
}

// measureTranslate compares the provider for another wire with the one that sends the
// bytes as they are.
func measureTranslate(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title: "a provider that sends OpenAI's wire on, and one that translates it to Anthropic's and back",
		Columns: []column{{"openai µs", "best"}, {"openai µs", "median"}, {"anthropic µs", "best"},
			{"anthropic µs", "median"}, {"", "ratio"}},
		Note: "The upstream answers at once, in this process. Both read the request's JSON.",
	}
	for _, e := range exchanges() {
		figures, err := e.measure(ctx, b.time/2)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		r := row{name: e.name, figures: figures}
		if e.stream {
			r.target = below("anthropic", figures[3], frameLimit, " µs")
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// providers are those of both wires, before upstreams that give the answer.
func (e *exchange) providers() (plain, translating gateway.Provider, err error) {
	contentType := "application/json"
	if e.stream {
		contentType = "text/event-stream"
	}
	plain, err = openai.New(openai.Config{BaseURL: "http://127.0.0.1/v1", Transport: canned{contentType, e.openai}})
	if err != nil {
		return nil, nil, err
	}
	translating, err = anthropic.New(anthropic.Config{BaseURL: "http://127.0.0.1", Transport: canned{contentType, e.anthropic}})
	return plain, translating, err
}

func (e *exchange) measure(ctx context.Context, total time.Duration) ([]figure, error) {
	plain, translating, err := e.providers()
	if err != nil {
		return nil, err
	}
	var batches []batch
	for _, p := range []gateway.Provider{plain, translating} {
		req, err := gateway.ParseRequest(e.request)
		if err != nil {
			return nil, err
		}
		want, err := alone(p)(ctx, req)
		if err != nil {
			return nil, err
		}
		batches = append(batches, repeated(asking(ctx, alone(p), e.request, want)))
	}
	figures, err := compare(ctx, total, batches[0], batches[1])
	for i := range figures[:min(4, len(figures))] {
		figures[i] /= figure(e.parts)
	}
	return figures, err
}
