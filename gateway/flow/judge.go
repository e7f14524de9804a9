package flow

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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
		answer, err := ask(ctx, p, model, question)
		r.Usage, r.Took = answer.usage, time.Since(began)
		if m != nil {
			use := gateway.Use{Provider: provider, Model: model, Purpose: gateway.ForJudge, Usage: answer.usage, Complete: err == nil, Unbilled: !answer.began && (ctx.Err() == nil || err != nil && gateway.AsError(err).Unsent),
				Sent: len(question), Came: len(answer.text), Status: "ok", Took: r.Took}
			if err != nil {
				use.Status = gateway.AsError(err).CodeOrDefault()
			}
			m.Ended(use)
		}
		switch word := strings.ToLower(strings.Trim(strings.TrimSpace(answer.text), ".*!\"'`")); {
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

// judgeAnswer is what a judge has answered.
type judgeAnswer struct {
	text  string
	usage usage.Usage
	began bool // there was an answer, which somebody has to pay for
}

// ask puts a question to a model. With an error the answer is what had come before.
func ask(ctx context.Context, p gateway.Provider, model, question string) (a judgeAnswer, err error) {
	body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": question}}})
	if err != nil {
		return a, err
	}
	req, err := gateway.ParseRequest(body)
	if err != nil {
		return a, err
	}
	req.From.Header = http.Header{}
	reply, err := p.Chat(ctx, model, req)
	if err != nil {
		return a, err
	}
	defer reply.Close()
	a.began = true
	err = a.read(reply)
	if _, after, thought := strings.Cut(a.text, "</think>"); thought {
		a.text = after
	}
	return a, err
}

// read reads an answer to its end, or as much of it as a judge may say.
func (a *judgeAnswer) read(reply gateway.Reply) error {
	var text strings.Builder
	defer func() { a.text = text.String() }()
	for range maxRuling {
		f, err := reply.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.Done:
			return nil
		}
		f.Whole = !reply.Streamed()
		if u := f.Usage(); u != nil {
			a.usage = a.usage.Then(usage.Read(u))
		}
		for i := range f.Choices() {
			f.Pieces(i, func(piece []byte) bool {
				text.Write(piece[:min(len(piece), maxSaid-text.Len())])
				return text.Len() < maxSaid
			})
		}
	}
	return nil
}
