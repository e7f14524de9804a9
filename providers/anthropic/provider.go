// Package anthropic is the provider for Anthropic's Messages API, and for every
// server that speaks it: it takes a chat completion request, asks POST /v1/messages,
// and gives back a chat completion, or the chunks of one.
//
// Nothing is lost in silence. What the Messages API has no word for is dropped and
// named in the reply's warnings; what cannot be left out is refused, with the place.
// Text, arguments, schemas, thinking and cache_control stay the bytes that they were,
// so that Anthropic's prompt cache sees the same prefix in every turn.
//
// Extensions of OpenAI's form. In a request: cache_control on parts, messages, calls,
// results and tools; thinking_blocks on a message of the assistant; is_error on a
// result; every field of Anthropic's own at the top. In an answer: reasoning_content
// for the text of the thinking, and thinking_blocks and reasoning_details (OpenRouter's
// form) for its signed blocks, of which a client that sends either back keeps them alive
// through a loop of tools;
// prompt_tokens_details.cache_creation_tokens; native_finish_reason and stop_sequence
// beside finish_reason; caller on a call that a tool of Anthropic's has made, which is
// taken back; and provider_specific_fields with citations, with the blocks of tools that
// ran on Anthropic's servers, and with deltas of an unknown type. Those blocks are not
// taken back in the next turn. In a stream the entries of these lists have an index, but
// for the first; OpenAI's SDK for Python needs it. A client of the Messages API is also told there where a
// text or a thought begins and ends (begins, ends), what its block and that of a call have
// besides (begins, beside), what deltas and events have (delta, event, stop), and gets as
// they come other blocks (opens, deltas), and deltas and events of an unknown type (deltas,
// event). A whole answer has the message there, as it came; a stream has each event in front of
// the chunk that was made of it (see Origin of gateway/wire).
package anthropic

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// Defaults of Config.
const (
	DefaultBaseURL = "https://api.anthropic.com"
	DefaultVersion = "2023-06-01"
	// DefaultMaxTokens is within what every model since Claude 3.5 may give.
	DefaultMaxTokens = 8192
)

// Timeouts are the timers of one request: Connect, FirstToken, Idle, Comments, Whole and Total. Zero
// means the default. The one that runs out is named in the error. The first token is
// the first content block; a ping is none.
type Timeouts = upstream.Timeouts

// Config says which upstream to ask, and how.
type Config struct {
	// Name is the provider's name in messages. Empty means the upstream's host.
	Name string
	// BaseURL is the upstream's address, with or without the version at its end; empty
	// means DefaultBaseURL. A query is kept; credentials do not belong in it.
	BaseURL string
	// APIKey is sent in the header x-api-key, if it is not empty.
	APIKey string
	// Version is the header anthropic-version; empty means DefaultVersion. A client's
	// own is not sent on, since the translation is for this one; its anthropic-beta is.
	Version string
	// Headers are set in every request, over all others.
	Headers map[string]string
	// ForwardHeaders are names of clients' headers that the upstream gets, and PassHeaders
	// names of the upstream's that clients get, beside those that package headers lists.
	ForwardHeaders, PassHeaders []string
	// MaxTokens is max_tokens for a client that sets none, since the Messages API
	// demands it; 0 means DefaultMaxTokens. With reasoning_effort the tokens for
	// thinking come on top.
	MaxTokens int

	Timeouts Timeouts
	// MaxResponse is the limit in bytes on a whole answer, and on a stream that the
	// upstream has compressed; 0 means 64 MiB.
	MaxResponse int64
	// MaxStream is the limit in bytes on any stream; 0 means 256 MiB.
	MaxStream int64
	// Transport sends the requests. Nil means one of the provider's own, with HTTP/2
	// where the upstream has it and the proxy of the environment.
	Transport http.RoundTripper
}

// Provider asks one upstream. It is safe for concurrent use.
type Provider struct {
	client           *upstream.Client
	chatURL, listURL *url.URL
	countURL         *url.URL
	maxTokens        int
}

var (
	_ gateway.Provider    = (*Provider)(nil)
	_ gateway.ModelLister = (*Provider)(nil)
	_ gateway.Needer      = (*Provider)(nil)
	_ gateway.Failer      = (*Provider)(nil)
	_ gateway.Relayer     = (*Provider)(nil)
)

// openAIOnly are headers of OpenAI's clients that mean nothing here.
var openAIOnly = []string{"Openai-Beta"}

// New returns a provider, or an error that says which field of c is wrong and
// never quotes a secret.
func New(c Config) (*Provider, error) {
	if c.MaxTokens < 0 {
		return nil, fmt.Errorf("max_tokens: %d is negative", c.MaxTokens)
	}
	headers := map[string]string{"Anthropic-Version": cmp.Or(c.Version, DefaultVersion)}
	for name, value := range maps.All(c.Headers) {
		headers[textproto.CanonicalMIMEHeaderKey(name)] = value
	}
	client, err := upstream.New(upstream.Config{
		Name: c.Name, BaseURL: cmp.Or(c.BaseURL, DefaultBaseURL), Key: c.APIKey, KeyHeader: "x-api-key",
		Headers: headers, Drop: openAIOnly, Forward: c.ForwardHeaders, Pass: c.PassHeaders, QuotaCodes: []string{"billing_error"},
		Timeouts: c.Timeouts, MaxResponse: c.MaxResponse, MaxStream: c.MaxStream, Transport: c.Transport,
	})
	if err != nil {
		return nil, err
	}
	version := "v1"
	if strings.HasSuffix(strings.TrimSuffix(client.URL().Path, "/"), "/v1") {
		version = ""
	}
	p := &Provider{
		client:    client,
		chatURL:   client.URL(version, "messages"),
		listURL:   client.URL(version, "models"),
		countURL:  client.URL(version, "messages", "count_tokens"),
		maxTokens: cmp.Or(c.MaxTokens, DefaultMaxTokens),
	}
	query := p.listURL.Query()
	query.Set("limit", "1000") // the most that one page may have; the default is 20
	p.listURL.RawQuery = query.Encode()
	return p, nil
}

// CloseIdleConnections closes the connections that no request is using. A
// provider that is no longer needed would else keep them for a while.
func (p *Provider) CloseIdleConnections() { p.client.CloseIdleConnections() }

// Needs implements [gateway.Needer]. The Messages API parses the arguments of earlier
// calls, refuses a call without its result and a result without its call, and takes
// ids of one form only.
func (p *Provider) Needs() gateway.Needs {
	return gateway.Needs{Arguments: true, Pairs: true, IDs: gateway.AnthropicID}
}

// Models implements [gateway.ModelLister] with GET /v1/models, one page of a thousand.
// It takes no longer than five seconds and reads no more than 4 MiB.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	return p.client.Models(ctx, p.listURL)
}

// Redact implements [gateway.Redactor].
func (p *Provider) Redact(s string) string { return p.client.Redact(s) }
