package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestExchanges checks that both wires say the same.
func TestExchanges(t *testing.T) {
	t.Parallel()
	for _, e := range exchanges() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			plain, translating, err := e.providers()
			if err != nil {
				t.Fatal(err)
			}
			want, got := answered(t, plain, e.request), answered(t, translating, e.request)
			if got != want || got.content+got.arguments == "" {
				t.Errorf("anthropic says %.300q, openai %.300q", got, want)
			}
		})
	}
}

// answered is what a provider answers.
func answered(t *testing.T, p gateway.Provider, body []byte) (r received) {
	t.Helper()
	req := parsed(t, body)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	reply, err := p.Chat(ctx, req.Model, req)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	for {
		f, err := reply.Next()
		if err == io.EOF {
			return r
		}
		if err == nil && f.Data != nil {
			err = r.add(f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func parsed(t *testing.T, body []byte) *gateway.Request {
	t.Helper()
	req, err := gateway.ParseRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}
