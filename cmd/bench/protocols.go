package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// protocol is how a client asks, and how it reads the answer.
type protocol struct {
	path, end string // of the URL, and of a stream
	request   func(model string, stream bool, size int) []byte
	read      func(body []byte, stream bool) (received, error)
}

// chatCompletions is the protocol of all rows that do not say another.
var chatCompletions = &protocol{path: "/v1/chat/completions", end: "data: [DONE]\n\n", request: request, read: read}

// protocols are the others.
var protocols = map[string]*protocol{
	"Responses":       {path: "/v1/responses", end: "data: [DONE]\n\n", request: responsesRequest(false), read: readResponse},
	"Responses, kept": {path: "/v1/responses", end: "data: [DONE]\n\n", request: responsesRequest(true), read: readResponse},
	"Messages":        {path: "/v1/messages", end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", request: messagesRequest, read: readMessage},
}

// filled is a body with as long a prompt as makes it size bytes long.
func filled(size int, body func(prompt string) []byte) []byte {
	const system = "You are a careful assistant. Answer in one short paragraph. "
	n := max(0, size-len(body("")))
	return body(strings.Repeat(system, n/len(system)+1)[:n])
}

const fileSchema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`

func responsesRequest(kept bool) func(model string, stream bool, size int) []byte {
	return func(model string, stream bool, size int) []byte {
		return filled(size, func(prompt string) []byte {
			return fmt.Appendf(nil, `{"model":"%s","stream":%t,"store":%t,"instructions":"%s","input":"Please write the file.","tools":[{"type":"function","name":"write_file",`+
				`"description":"Write a file.","strict":false,"parameters":%s}],"temperature":0.7,"max_output_tokens":256}`, model, stream, kept, prompt, fileSchema)
		})
	}
}

func messagesRequest(model string, stream bool, size int) []byte {
	return filled(size, func(prompt string) []byte {
		return fmt.Appendf(nil, `{"model":"%s","stream":%t,"system":"%s","messages":[{"role":"user","content":"Please write the file."}],"tools":[{"name":"write_file",`+
			`"description":"Write a file.","input_schema":%s}],"temperature":0.7,"max_tokens":256}`, model, stream, prompt, fileSchema)
	})
}

// eventsOf are the data of a stream's events.
func eventsOf(body []byte, f func(kind string, data []byte) error) error {
	for block := range bytes.SplitSeq(body, []byte("\n\n")) {
		_, data, ok := bytes.Cut(block, []byte("data: "))
		var event struct {
			Type string `json:"type"`
		}
		if !ok || json.Unmarshal(data, &event) != nil {
			continue
		}
		if err := f(event.Type, data); err != nil {
			return err
		}
	}
	return nil
}

// readResponse reads a response, whole or from the event that ends it.
func readResponse(body []byte, stream bool) (out received, err error) {
	var r struct {
		Output []struct {
			Type, Name, Arguments string
			Content               []struct{ Text string }
		}
	}
	if stream {
		last := []byte("{}")
		err = eventsOf(body, func(kind string, data []byte) error {
			var e struct{ Response json.RawMessage }
			if kind == "response.completed" {
				err = json.Unmarshal(data, &e)
				last = e.Response
			}
			return err
		})
		body = last
	}
	if err = errors.Join(err, json.Unmarshal(body, &r)); err != nil {
		return out, err
	}
	out.finish = "stop"
	for _, item := range r.Output {
		if item.Type == "function_call" {
			out.name, out.arguments, out.finish = item.Name, item.Arguments, "tool_calls"
		}
		for _, part := range item.Content {
			out.content += part.Text
		}
	}
	return out, nil
}

// readMessage reads a message, whole or from its events.
func readMessage(body []byte, stream bool) (out received, err error) {
	var m struct {
		Content []struct {
			Text, Name string
			Input      json.RawMessage
		}
		StopReason string `json:"stop_reason"`
	}
	if stream {
		err = eventsOf(body, func(_ string, data []byte) error {
			var e struct {
				Delta struct {
					Text        string
					PartialJSON string `json:"partial_json"`
					StopReason  string `json:"stop_reason"`
				}
				ContentBlock struct{ Name string } `json:"content_block"`
			}
			err := json.Unmarshal(data, &e)
			out.content += e.Delta.Text
			out.arguments += e.Delta.PartialJSON
			out.name += e.ContentBlock.Name
			m.StopReason += e.Delta.StopReason
			return err
		})
	} else if err = json.Unmarshal(body, &m); err == nil {
		for _, block := range m.Content {
			out.content += block.Text
			out.name += block.Name
			out.arguments += string(block.Input)
		}
	}
	out.finish = map[string]string{"end_turn": "stop", "tool_use": "tool_calls"}[m.StopReason]
	return out, err
}
