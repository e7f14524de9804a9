package gateway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// outputLimits are the names that upstreams know of the limit on output tokens. All that a request has
// are looked at, in every case that a server may take for them.
var outputLimits = []string{"max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens", "n_predict", "num_predict"}

// CodeTokenCap is the code of a request that asks for more output tokens than its key may.
const CodeTokenCap = "max_tokens_exceeded" //nolint:gosec // no credential

// Capped is the request with no more output tokens than its client may ask for: one that asks for more
// is refused, and one that says nothing gets what there is for each of its choices as
// max_completion_tokens, and a warning. Without a cap it is the request itself. The error is an *Error.
func (r *Request) Capped() (*Request, error) {
	most := r.From.Client.cap()
	if most == 0 {
		return r, nil
	}
	asked, choices, err := r.From.Client.outputLimit(r.Body.Bytes())
	if err != nil {
		return nil, err
	}
	if asked {
		return r, nil
	}
	each := most / choices
	at := wire.Find(r.Body.Bytes(), wire.Span{End: len(r.Body.Bytes())}, "max_completion_tokens")
	out := r.Edit(r.Body.Set(at, "max_completion_tokens", strconv.FormatInt(each, 10)))
	out.Warnings = append(slices.Clip(r.Warnings), "max_tokens:"+strconv.FormatInt(each, 10))
	return out, nil
}

// Bounded says why a request that is sent on as it is may not be: it asks for more output tokens than
// its client may, or says nothing although it is one for text. The error is an *Error.
func (r *Request) Bounded(text bool) error {
	most := r.From.Client.cap()
	if most == 0 {
		return nil
	}
	asked, _, err := r.From.Client.outputLimit(r.Body.Bytes())
	if err == nil && !asked && text {
		err = &Error{Kind: Invalid, Code: CodeTokenCap, Param: "max_tokens",
			Message: fmt.Sprintf("The field \"max_tokens\" is missing, and the key %q may ask for at most %d output tokens: send max_tokens.", r.From.Client.Key, most)}
	}
	return err
}

// cap is how many output tokens the client may ask for in a request, 0 for any number.
func (c *Client) cap() int64 {
	if c == nil {
		return 0
	}
	return int64(c.MaxTokens)
}

// outputLimit reports whether a request of the client, who has a cap, limits its output, and how many choices it asks for, all
// prompts of completions together, and refuses it if that is more than may be.
func (c *Client) outputLimit(body []byte) (asked bool, choices int64, err error) {
	most := c.cap()
	number := func(name string, at wire.Span, format string) (int64, *Error) {
		n, wrong := strconv.ParseInt(string(at.Of(body)), 10, 64)
		if wrong != nil || n < 1 {
			return 0, invalid(name, fmt.Sprintf("The field %q must be a whole number from 1 on, not %s: the key %q has a limit on output tokens.", name, Excerpt(at.Of(body)), c.Key))
		}
		if n > most {
			return n, &Error{Kind: Invalid, Code: CodeTokenCap, Param: name, Message: fmt.Sprintf(format, name, n, c.Key, most)}
		}
		return n, nil
	}
	largest, prompts, where := int64(0), int64(1), ""
	choices = 1
	wire.Members(body, 0, func(key []byte, at wire.Span) bool {
		name := string(wire.Key(key))
		if at.IsNull(body) {
			return true
		}
		var n int64
		var wrong *Error
		switch {
		case strings.EqualFold(name, "n") || strings.EqualFold(name, "best_of"):
			if n, wrong = number(name, at, "The field %q is %d, and the key %q may ask for at most %d output tokens in all choices together: lower it."); wrong == nil {
				choices = max(choices, n)
			}
		case strings.EqualFold(name, "prompt"):
			prompts = max(prompts, promptsOf(at.Of(body)))
		case slices.ContainsFunc(outputLimits, func(known string) bool { return strings.EqualFold(name, known) }):
			if n, wrong = number(name, at, "The field %q is %d, and the key %q may ask for at most %d output tokens: lower it."); wrong == nil && n > largest {
				largest, where = n, name
			}
		}
		if wrong != nil {
			err = wrong
		}
		return err == nil
	})
	choices *= prompts // which are no more than a request may have values
	if err == nil {
		err = c.inAll(largest, choices, where)
	}
	return largest > 0, choices, err
}

// inAll refuses a request whose choices may have more output tokens together than the client may ask for. where is the
// field that has the largest number for one of them.
func (c *Client) inAll(largest, choices int64, where string) error {
	switch most := c.cap(); {
	case choices > most:
		return &Error{Kind: Invalid, Code: CodeTokenCap, Param: "prompt", Message: fmt.Sprintf("The field \"prompt\" asks for %d answers, and the key %q may ask for at most %d output tokens in all: send fewer texts.", choices, c.Key, most)}
	case largest*choices > most: // neither is more than most
		return &Error{Kind: Invalid, Code: CodeTokenCap, Param: where, Message: fmt.Sprintf("The field %q is %d for each of %d choices, and the key %q may ask for at most %d output tokens in all: lower one of them.", where, largest, choices, c.Key, most)}
	}
	return nil
}

// promptsOf is how many texts the prompt of completions has: a list of texts, or of lists of tokens, is answered
// text by text.
func promptsOf(prompt []byte) (n int64) {
	wire.Elements(prompt, 0, func(_ int, at wire.Span) bool {
		if b := prompt[at.Start]; b == '"' || b == '[' {
			n++
		}
		return true
	})
	return n
}
