// Package moonshot is the provider for Moonshot AI's platform, which serves Kimi,
// after its documentation "Chat API", "Tool use" and "Error reference". The wire is
// OpenAI's.
//
// Kimi names calls functions.NAME:N, where N counts the calls of a conversation from
// 0, and calls worse when a conversation has ids of another form. These ids are the
// model's own and stay as they are; the gateway writes the others of a conversation
// in that form, as Needs asks. The indexes of parallel calls in a stream can all be 0:
// the gateway counts them anew, by their ids.
package moonshot

import (
	"cmp"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// DefaultBaseURL is the international platform. That of mainland China is
// "https://api.moonshot.cn/v1"; a key belongs to one of them.
const DefaultBaseURL = "https://api.moonshot.ai/v1"

// Config says how to ask Moonshot.
type Config struct {
	// Name is the provider's name in messages. Empty means the upstream's host.
	Name string
	// BaseURL is the address up to and with its version; empty means DefaultBaseURL.
	BaseURL string
	// APIKey is sent as a bearer token.
	APIKey string
	// Headers are set in every request, over all others.
	Headers map[string]string

	Timeouts openai.Timeouts
	// MaxResponse is the limit in bytes on an answer; 0 means
	// [openai.DefaultMaxResponse].
	MaxResponse int64
	// Transport sends the requests. Nil means one of the provider's own.
	Transport http.RoundTripper
}

// quotaCode is Moonshot's for an account without money. It comes with status 429,
// as its rate limits do.
const quotaCode = "exceeded_current_quota_error"

// New returns a provider, or an error that says which field of c is wrong and never
// quotes a secret.
func New(c Config) (*openai.Provider, error) {
	return openai.New(openai.Config{
		Name: c.Name, BaseURL: cmp.Or(c.BaseURL, DefaultBaseURL), APIKey: c.APIKey, Headers: c.Headers,
		QuotaCodes: []string{quotaCode},
		Needs:      gateway.Needs{Arguments: true, Pairs: true, IDs: gateway.KimiID},
		Timeouts:   c.Timeouts, MaxResponse: c.MaxResponse, Transport: c.Transport,
	})
}
