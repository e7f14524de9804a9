package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
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
// all others is our own estimate.
func (n *counter) answer(c echo.Context, body []byte, from protocol.Client) error {
	answer, err := messages.CountTokens(body, from)
	if err != nil {
		return err
	}
	if exact := n.ask(c, body, from); exact != nil {
		answer = exact
	}
	return c.JSONBlob(http.StatusOK, answer)
}

// ask is the upstream's own count, nil where there is none.
func (n *counter) ask(c echo.Context, body []byte, from protocol.Client) []byte {
	req, err := from.Limits.Parse(body, from.Room)
	if err != nil || n.access.enter(c, req) != nil {
		return nil
	}
	req.Wishes.MaxRetries = new(int)
	relay := &gateway.Relay{Method: http.MethodPost, Path: gateway.CountPath, Header: req.From.Header}
	relay.Body = func(model string) (io.ReadCloser, int64, error) {
		named := req.With(model, nil).Join()
		return io.NopCloser(bytes.NewReader(named)), int64(len(named)), nil
	}
	ctx, done := n.observer.begin(c)
	defer func() { done(req.Routing.Route) }()
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	resp, err := n.gateway.Relay(ctx, req, relay, false)
	if err != nil {
		return nil
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
		return nil
	}
	recordOf(c).summary = resp.Summary
	return answer
}
