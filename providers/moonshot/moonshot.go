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

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// DefaultBaseURL is the international platform. That of mainland China is
// "https://api.moonshot.cn/v1"; a key belongs to one of them.
const DefaultBaseURL = "https://api.moonshot.ai/v1"

// quotaCode is Moonshot's for an account without money. It comes with status 429,
// as its rate limits do.
const quotaCode = "exceeded_current_quota_error"

// New returns a provider, or an error that says which field of c is wrong and never
// quotes a secret. An empty BaseURL means DefaultBaseURL. What the wire is c need not say.
func New(c openai.Config) (*openai.Provider, error) {
	c.BaseURL, c.QuotaCodes = cmp.Or(c.BaseURL, DefaultBaseURL), []string{quotaCode}
	c.Needs = gateway.Needs{Arguments: true, Pairs: true, IDs: gateway.KimiID}
	return openai.New(c)
}
