package gateway

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway/internal/route"
)

// Client is whose request it is: the key that it came with, and what that key may do. It is made once
// for each request and not changed then; a request of a gateway without keys has none.
type Client struct {
	// Key is the key's name, and Team that of its team, "" for none.
	Key, Team string
	// Labels are the key's own and its team's, for the rows of usage.
	Labels map[string]string
	// Models are lists of patterns of the models that it may ask for, with * for any text, and Tools of
	// the tools of the gateway's servers, as server__tool: the key's and its team's. A name has to match
	// a pattern of each list; a list that is nil allows all, an empty one none.
	Models, Tools [][]string
	// MaxTokens is the most output tokens that a request may ask for; 0 is no limit.
	MaxTokens int
	// Arms are the arms of rollouts that it may choose by a header, as rollout/arm with * for any
	// text; nil is none.
	Arms []string
}

// MayAsk reports whether the client may ask for a model, by the name that it has sent. A client that
// is nil may ask for all.
func (c *Client) MayAsk(model string) bool { return c == nil || allows(c.Models, model) }

// CheckModel is why the client may not ask for a model; nil if it may. It does not tell whether there is
// such a model.
func (c *Client) CheckModel(model string) *Error {
	if c.MayAsk(model) {
		return nil
	}
	return &Error{Kind: Forbidden, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("The key %q may not use the model %q. GET /v1/models lists those that it may.", c.Key, ExcerptOf(model, 80))}
}

// Restricts reports whether there are models that the client may not ask for.
func (c *Client) Restricts() bool {
	return c != nil && slices.ContainsFunc(c.Models, func(list []string) bool { return list != nil && !slices.Contains(list, route.Star) })
}

// MayCall reports whether the client may have a tool of the gateway's servers called, by its alias. A
// client that is nil may have all.
func (c *Client) MayCall(alias string) bool { return c == nil || allows(c.Tools, alias) }

// MayChoose reports whether the client may choose an arm of a rollout by a header, as rollout/arm. A
// client that is nil may choose all: a gateway without keys is its user's own.
func (c *Client) MayChoose(arm string) bool { return c == nil || matches(c.Arms, arm) }

func allows(lists [][]string, name string) bool {
	return !slices.ContainsFunc(lists, func(list []string) bool { return list != nil && !matches(list, name) })
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return route.NewGlob(p).Match(name) })
}
