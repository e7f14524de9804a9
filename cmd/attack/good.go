package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// good is the client that behaves well.
type good struct {
	gateway *gateway
	client  *http.Client

	mu        sync.Mutex
	sent      int
	right     int
	refused   int // 503 with Retry-After
	wrong     []string
	latencies []time.Duration // of those that were answered
}

// sorts are the requests that it sends in turn.
var sorts = []struct {
	path, body string
	check      func(body []byte, city string) error
}{
	{"/v1/chat/completions", `{"model":"good",` + chatBody + `}`, checkChat},
	{"/v1/chat/completions", `{"model":"good","stream":true,` + chatBody + `}`, checkStream},
	{"/v1/responses", `{"model":"good","store":false,"input":"What is the weather in CITY?","tools":[{"type":"function","name":"get_weather","parameters":` + schema + `}]}`, checkResponse},
	{"/v1/messages", `{"model":"good","max_tokens":100,"messages":[{"role":"user","content":"What is the weather in CITY?"}],"tools":[{"name":"get_weather","input_schema":` + schema + `}]}`, checkMessage},
	{"/v1/chat/completions", `{"model":"kept","temperature":0,"messages":[{"role":"user","content":"Please greet CITY"}]}`, checkGreeting},
}

const (
	schema   = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	chatBody = `"messages":[{"role":"user","content":"What is the weather in CITY?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schema + `}}]`
)

// ask sends the n-th request, and notes what became of it.
func (c *good) ask(ctx context.Context, n int) {
	sort := sorts[n%len(sorts)]
	city := fmt.Sprintf("City%d", n)
	if n%len(sorts) == len(sorts)-1 {
		city = fmt.Sprintf("City%d", n%40) // so that some have an answer that is kept
	}
	began := time.Now()
	status, header, body, err := c.post(ctx, sort.path, strings.ReplaceAll(sort.body, "CITY", city))
	took := time.Since(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	switch {
	case err == nil && status == http.StatusOK:
		if err := sort.check(body, city); err != nil {
			c.wrong = append(c.wrong, fmt.Sprintf("%s for %s: %v: %.300s", sort.path, city, err, body))
			return
		}
		c.right++
		c.latencies = append(c.latencies, took)
	case err == nil && status == http.StatusServiceUnavailable && header.Get("retry-after") != "":
		c.refused++
	default:
		c.wrong = append(c.wrong, fmt.Sprintf("%s for %s: status %d, error %v: %.300s", sort.path, city, status, err, body))
	}
}

func (c *good) post(ctx context.Context, path, body string) (status int, header http.Header, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.gateway.address+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("content-type", "application/json")
	r.Header.Set("authorization", "Bearer "+goodKey)
	resp, err := c.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// percentile is how long that share of the answers took at most.
func (c *good) percentile(share float64) time.Duration {
	if len(c.latencies) == 0 {
		return 0
	}
	slices.Sort(c.latencies)
	return c.latencies[int(share*float64(len(c.latencies)-1))]
}

// function is a call as Chat Completions has it.
type function struct {
	Function struct{ Name, Arguments string }
}

// oneCall checks that there is one call, for the weather of a city, and no text.
func oneCall(calls int, name, arguments, text, reason, city string) error {
	want := `{"city":"` + city + `"}`
	if calls != 1 || name != "get_weather" || arguments != want || text != "" || reason != "tool_calls" {
		return fmt.Errorf("got %d calls, %s(%s), the text %q and %q, want get_weather(%s)", calls, name, arguments, text, reason, want)
	}
	return nil
}

func checkChat(body []byte, city string) error {
	var got struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []function `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Choices) != 1 || len(got.Choices[0].Message.ToolCalls) != 1 {
		return fmt.Errorf("got no call: %w", err)
	}
	m := got.Choices[0].Message
	return oneCall(1, m.ToolCalls[0].Function.Name, m.ToolCalls[0].Function.Arguments, m.Content, got.Choices[0].FinishReason, city)
}

func checkStream(body []byte, city string) error {
	var name, arguments, text, reason, last string
	calls := 0
	for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if last = data; data == "[DONE]" {
			continue
		}
		var got struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []function `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &got); err != nil {
			return err
		}
		for _, choice := range got.Choices {
			text, reason = text+choice.Delta.Content, reason+choice.FinishReason
			for _, call := range choice.Delta.ToolCalls {
				name, arguments = name+call.Function.Name, arguments+call.Function.Arguments
				if call.Function.Name != "" {
					calls++
				}
			}
		}
	}
	if last != "[DONE]" {
		return fmt.Errorf("the stream ends with %q", last)
	}
	return oneCall(calls, name, arguments, text, reason, city)
}

func checkResponse(body []byte, city string) error {
	var got struct {
		Status string
		Output []struct{ Type, Name, Arguments string }
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Output) != 1 || got.Output[0].Type != "function_call" || got.Status != "completed" {
		return fmt.Errorf("got no call: %w", err)
	}
	return oneCall(1, got.Output[0].Name, got.Output[0].Arguments, "", "tool_calls", city)
}

func checkMessage(body []byte, city string) error {
	var got struct {
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type, Name string
			Input      json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Content) != 1 || got.Content[0].Type != "tool_use" || got.StopReason != "tool_use" {
		return fmt.Errorf("got no call: %w", err)
	}
	return oneCall(1, got.Content[0].Name, string(got.Content[0].Input), "", "tool_calls", city)
}

func checkGreeting(body []byte, city string) error {
	var got struct {
		Choices []struct{ Message struct{ Content string } }
	}
	want := "Hello, " + city + "!"
	if err := json.Unmarshal(body, &got); err != nil || len(got.Choices) != 1 || got.Choices[0].Message.Content != want {
		return fmt.Errorf("got no %q: %w", want, err)
	}
	return nil
}
