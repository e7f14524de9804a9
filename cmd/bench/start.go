package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

const (
	warmStarts  = 7
	pollTime    = 5 * time.Millisecond
	startBudget = 2 * time.Minute // bounds one start
)

// measureStart measures how long after the start of the process the first tool
// call is there.
func measureStart(ctx context.Context, b *bench) (*table, error) {
	cache := filepath.Join(b.dir, "start")
	cold, err := b.timeStart(ctx, cache)
	if err != nil {
		return nil, fmt.Errorf("cold: %w", err)
	}
	if cold.refused == 0 {
		return nil, errors.New("cold: /readyz said yes before the parsers can have been compiled")
	}
	var answered, ready []float64
	for range warmStarts {
		s, err := b.timeStart(ctx, cache)
		if err != nil {
			return nil, fmt.Errorf("warm: %w", err)
		}
		answered, ready = append(answered, s.answered), append(ready, s.ready)
	}
	sum := func(name string, answered, ready []float64, limit float64) row {
		return row{name: name, figures: []figure{median(answered), quantile(answered, 1), median(ready)},
			target: upTo("first answer", median(answered), limit, " ms")}
	}
	return &table{
		Title:   "from the start of the process to the first tool call, of the model demo/hermes",
		Columns: []column{{"first answer ms", "median"}, {"first answer ms", "longest"}, {"ready ms", "median"}},
		Rows: []row{
			sum("first start, nothing compiled", []float64{cold.answered}, []float64{cold.ready}, 5000),
			sum(fmt.Sprintf("%d later starts", warmStarts), answered, ready, 500),
		},
		Note: "ready: /readyz says 200. On the first start it said 503 until the parsers were compiled.",
	}, nil
}

// started is how a start went.
type started struct {
	answered, ready float64 // ms
	refused         int     // how often /readyz said 503
}

const demoConfig = "providers: {demo: {type: demo}}\n"

// timeStart starts a gateway, asks it at once and ends it.
func (b *bench) timeStart(ctx context.Context, cache string) (started, error) {
	ctx, cancel := context.WithTimeout(ctx, startBudget)
	defer cancel()
	s, err := b.startGateway(ctx, b.programs[0], demoConfig, cache)
	if err != nil {
		return started{}, err
	}
	defer s.close()
	var result started
	done := make(chan error, 1)
	go func() {
		var err error
		result.refused, err = waitReady(ctx, s)
		result.ready = millis(time.Since(s.began))
		done <- err
	}()
	err = firstCall(ctx, s)
	answered := millis(time.Since(s.began))
	if err = errors.Join(err, <-done); err != nil {
		return started{}, s.failed(err)
	}
	result.answered = answered
	return result, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// firstCall asks until there is an answer, which must hold a tool call.
func firstCall(ctx context.Context, s *server) error {
	const question = `{"model": "demo/hermes", "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
		"tools": [{"type": "function", "function": {"name": "get_weather", "parameters":
		{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}`
	for {
		status, body, err := ask(ctx, http.MethodPost, "http://"+s.address+"/v1/chat/completions", question)
		if err == nil && status == http.StatusOK {
			got, err := read(body, false)
			if err != nil || got.name != "get_weather" || got.finish != "tool_calls" {
				return fmt.Errorf("the first answer is %.500s", body)
			}
			return nil
		}
		if status != http.StatusServiceUnavailable && status != 0 {
			return fmt.Errorf("the first answer has the status %d: %.500s", status, body)
		}
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
}

// waitReady polls /readyz until it says 200 and returns how often it said 503.
func waitReady(ctx context.Context, s *server) (refused int, err error) {
	ctx, cancel := context.WithTimeout(ctx, startBudget)
	defer cancel()
	for {
		status, body, err := ask(ctx, http.MethodGet, "http://"+s.address+"/readyz", "")
		switch {
		case err != nil: // not there yet, or gone
		case status == http.StatusOK:
			return refused, nil
		case status == http.StatusServiceUnavailable:
			refused++
		default:
			return refused, fmt.Errorf("/readyz says %d: %.200s", status, body)
		}
		if err := s.pause(ctx); err != nil {
			return refused, fmt.Errorf("not ready: %w", err)
		}
	}
}

// pause waits before the next question, if there is still somebody to ask.
func (s *server) pause(ctx context.Context) error {
	select {
	case <-s.gone:
		return errors.New("it ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollTime):
		return nil
	}
}

// ask sends one request. The status is 0 where there is no answer.
func ask(ctx context.Context, method, url, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}
