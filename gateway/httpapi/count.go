package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/messages"
)

const (
	// countTime is how long an upstream may take to count; after it our own estimate is as good.
	countTime = 5 * time.Second
	// maxCount is how many bytes of its answer are read.
	maxCount = 4 << 10
)

// counter counts the tokens of requests of the Messages API.
type counter struct {
	gateway  Chatter
	access   *access
	observer *observer
}

// answer is POST /v1/messages/count_tokens. An upstream that counts itself is asked; the count of
// all others is our own estimate, and a warning says so.
func (n *counter) answer(c echo.Context, body []byte, from protocol.Client) error {
	answer, err := messages.CountTokens(body, from)
	if err != nil {
		return err
	}
	exact, summary, err := n.ask(c, body, from)
	if err != nil {
		return err
	}
	if exact != nil {
		answer = exact
	} else {
		summary.Warn("tokens_estimated")
	}
	recordOf(c).summary = summary
	if summary.Provider != "" {
		observe.Headers(c.Response().Header(), summary, true)
	} else {
		observe.Facts(c.Response().Header(), summary)
	}
	return c.JSONBlob(http.StatusOK, answer)
}

// ask is the upstream's own count, nil where there is none, and what was done for it. The error is one that says of
// the client's request that it would not be answered either: nobody is asked, or may be.
func (n *counter) ask(c echo.Context, body []byte, from protocol.Client) ([]byte, *gateway.Summary, error) {
	req, err := from.Limits.Parse(body, from.Room)
	if err != nil {
		return nil, nil, err
	}
	if err := n.access.enter(c, req); err != nil {
		return nil, nil, err
	}
	req.Wishes.MaxRetries = new(int)
	relay := &gateway.Relay{Method: http.MethodPost, Path: gateway.CountPath, Header: req.From.Header}
	relay.Body = func(model string) (io.ReadCloser, int64, error) {
		named := req.With(model, nil).Join()
		return io.NopCloser(bytes.NewReader(named)), int64(len(named)), nil
	}
	recordOf(c).endpoint = gateway.CountPath
	ctx, done := n.observer.begin(c)
	defer func() { done(req.Routing.Route) }()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	resp, err := n.gateway.Relay(ctx, req, relay, false)
	if unasked(err) {
		return nil, nil, err
	}
	if err != nil {
		if e := gateway.AsError(err); e.Summary != nil {
			return nil, e.Summary, nil
		}
		return nil, &gateway.Summary{}, nil
	}
	defer resp.Close()
	var answer []byte
	for len(answer) <= maxCount {
		f, err := resp.Next()
		if f != nil {
			answer = append(answer, f.Raw...)
		}
		if err != nil || f != nil && f.Done {
			break
		}
	}
	var count struct {
		Tokens *int `json:"input_tokens"`
	}
	if resp.Status != http.StatusOK || json.Unmarshal(answer, &count) != nil || count.Tokens == nil {
		return nil, resp.Summary, nil
	}
	return answer, resp.Summary, nil
}

// unasked reports whether an error is that a request goes nowhere: to no model that there is, or that the
// client may ask for, or to no such arm.
func unasked(err error) bool {
	return err != nil && slices.Contains([]string{"model_not_found", "arm_not_found", "arm_not_allowed"}, gateway.AsError(err).Code)
}
