// Package openai is the provider for every upstream that speaks OpenAI's chat
// completions: OpenAI itself, vLLM, SGLang, llama.cpp, Ollama, OpenRouter and so
// on. It sends the client's bytes as they are and gives back the upstream's bytes
// as they come.
//
// It never follows a redirect, which would carry the key to another host, and
// never sends a request a second time.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// DefaultMaxResponse is the limit in bytes on an answer if Config names none.
const DefaultMaxResponse = upstream.DefaultMaxResponse

// Timeouts are the timers of one request: Connect, FirstToken, Idle, Comments, Whole and Total. Zero
// means the default. The one that runs out is named in the error.
type Timeouts = upstream.Timeouts

// Config says which upstream to ask, and how.
type Config struct {
	// Name is the provider's name in messages. Empty means the upstream's host.
	Name string
	// BaseURL is the upstream's address up to and with its version, such as
	// "https://api.openai.com/v1". A query is kept; credentials do not belong in it.
	BaseURL string
	// APIKey is sent as a bearer token, or as it is in the header KeyHeader, if that
	// is not empty. Without a key neither is sent.
	APIKey, KeyHeader string
	// Headers are set in every request, over all others.
	Headers map[string]string
	// ForwardHeaders are names of clients' headers that the upstream gets, and PassHeaders
	// names of the upstream's that clients get, beside those that package headers lists.
	ForwardHeaders, PassHeaders []string
	// Server is the upstream's software, VLLM, SGLang or LlamaCpp. It says how to ask
	// for the model's text unparsed; empty if nobody does.
	Server string

	// ChatPath is where the upstream takes chat completions below BaseURL; empty means
	// "chat/completions". "{model}" in it stands for the upstream's name of the model.
	ChatPath string
	// WholeWithTools is for upstreams whose streams break tool calls: a streamed
	// request that offers tools is sent with "stream": false and without
	// stream_options. Its reply is whole, says so in its warnings, and has no first
	// token to wait for: Timeouts.Total alone ends it.
	WholeWithTools bool
	// StreamOnly names models that the upstream refuses to answer whole, to which
	// WholeWithTools does not apply: names or patterns of [path.Match].
	StreamOnly []string
	// Responses says that the upstream has OpenAI's Responses API too, at ResponsesPath below BaseURL,
	// "responses" if that is empty: a client of that gets its own request there.
	Responses     bool
	ResponsesPath string
	// QuotaCodes are the values of error.code or error.type with which the upstream
	// says that the account's money or quota is spent, so that waiting does not help.
	// Nil means OpenAI's own, "insufficient_quota".
	QuotaCodes []string
	// Needs is what the upstream demands of a conversation, see [OwnNeeds] for
	// OpenAI's own. A Server adds what it demands itself.
	Needs gateway.Needs

	Timeouts Timeouts
	// MaxResponse is the limit in bytes on a whole answer, and on a stream that the
	// upstream has compressed; 0 means DefaultMaxResponse.
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
	chatURL, listURL *url.URL // the first is nil if chatPath names the model
	chatPath         string
	server           string
	wholeWithTools   bool
	streamOnly       []string
	needs            gateway.Needs
	taste            taste
	responsesURL     *url.URL                 // nil without the Responses API
	plain            *lru.Cache[string, bool] // models that have no encrypted reasoning; true: one has answered without
}

var (
	_ gateway.Provider    = (*Provider)(nil)
	_ gateway.ModelLister = (*Provider)(nil)
	_ gateway.Needer      = (*Provider)(nil)
	_ gateway.Failer      = (*Provider)(nil)
	_ gateway.Relayer     = (*Provider)(nil)
)

// New returns a provider, or an error that says which field of c is wrong and
// never quotes a secret.
func New(c Config) (*Provider, error) {
	for _, pattern := range c.StreamOnly {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("stream_only: %q is not a pattern", pattern)
		}
	}
	client, err := upstream.New(upstream.Config{
		Name: c.Name, BaseURL: c.BaseURL, Key: c.APIKey, KeyHeader: c.KeyHeader, Headers: c.Headers,
		Forward: c.ForwardHeaders, Pass: c.PassHeaders,
		QuotaCodes: c.QuotaCodes, Timeouts: c.Timeouts, MaxResponse: c.MaxResponse, MaxStream: c.MaxStream, Transport: c.Transport,
	})
	if err != nil {
		return nil, err
	}
	plain, err := lru.New[string, bool](maxPlain)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		plain:          plain,
		client:         client,
		listURL:        client.URL("models"),
		chatPath:       cmp.Or(c.ChatPath, "chat/completions"),
		server:         c.Server,
		wholeWithTools: c.WholeWithTools,
		streamOnly:     c.StreamOnly,
		needs:          c.Needs,
		taste:          tasteOf(client.URL().Hostname()),
	}
	if c.Responses {
		p.responsesURL = client.URL(cmp.Or(c.ResponsesPath, "responses"))
	}
	if !strings.Contains(p.chatPath, modelInPath) {
		p.chatURL = client.URL(p.chatPath)
	}
	return p, nil
}

// CloseIdleConnections closes the connections that no request is using. A
// provider that is no longer needed would else keep them for a while.
func (p *Provider) CloseIdleConnections() { p.client.CloseIdleConnections() }

// Redact implements [gateway.Redactor].
func (p *Provider) Redact(s string) string { return p.client.Redact(s) }

// Failure implements [gateway.Failer].
func (p *Provider) Failure(h http.Header, data []byte) *gateway.Error {
	return p.client.Failure(0, h, data)
}

// Models implements [gateway.ModelLister] with GET {BaseURL}/models. It takes no
// longer than five seconds and reads no more than 4 MiB.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	return p.client.Models(ctx, p.listURL)
}
