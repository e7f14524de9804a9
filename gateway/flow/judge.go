package flow

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/usage"
)

// defaultJudging is how long a judge may take where nobody says.
const defaultJudging = 3 * time.Second

// judge asks a model of the operator's choosing about answers: provider and model, once and
// without retries. What it cost is in the ruling.
func judge(p gateway.Provider, provider, model string, limit time.Duration) guard.Judge {
	if limit <= 0 {
		limit = defaultJudging
	}
	return func(ctx context.Context, question string) guard.Ruling {
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		r := guard.Ruling{Provider: provider, Model: model}
		m := gateway.MeterOf(ctx)
		if m != nil {
			_ = m.Begin(provider, model, gateway.ForJudge, len(question)) // no limit keeps a judge from its upstream
		}
		text, used, err := ask(ctx, p, model, question)
		r.Usage, r.Took = used, time.Since(began)
		if m != nil {
			use := gateway.Use{Provider: provider, Model: model, Purpose: gateway.ForJudge, Usage: used, Complete: err == nil, Unbilled: err != nil && text == "" && ctx.Err() == nil,
				Sent: len(question), Came: len(text), Status: "ok", Took: r.Took}
			if err != nil {
				use.Status = gateway.AsError(err).CodeOrDefault()
			}
			m.Ended(use)
		}
		switch word := strings.ToLower(strings.Trim(strings.TrimSpace(text), ".*!\"'`")); {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			r.Failed = "timeout"
		case err != nil:
			r.Failed = "error"
		case strings.HasPrefix(word, "yes"):
			r.Missing = true
		case !strings.HasPrefix(word, "no"):
			r.Failed = "unclear"
		}
		return r
	}
}

// maxRuling is how many frames of a judge's answer are read, and maxSaid how many bytes of its text.
const maxRuling, maxSaid = 4096, 64 << 10

// ask puts a question to a model, and returns what it says.
func ask(ctx context.Context, p gateway.Provider, model, question string) (text string, used usage.Usage, err error) {
	body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": question}}})
	if err != nil {
		return "", used, err
	}
	req, err := gateway.ParseRequest(body)
	if err != nil {
		return "", used, err
	}
	req.From.Header = http.Header{}
	reply, err := p.Chat(ctx, model, req)
	if err != nil {
		return "", used, err
	}
	defer reply.Close()
	var said strings.Builder
	for range maxRuling {
		f, err := reply.Next()
		if f != nil {
			f.Whole = !reply.Streamed()
			if u := f.Usage(); u != nil {
				used = usage.Read(u)
			}
			for i := range f.Choices() {
				f.Pieces(i, func(piece []byte) bool {
					said.Write(piece)
					return said.Len() < maxSaid
				})
			}
		}
		if err != nil || f.Done {
			break
		}
	}
	_, after, thought := strings.Cut(said.String(), "</think>")
	if thought {
		return after, used, nil
	}
	return said.String(), used, nil
}
