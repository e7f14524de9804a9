package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/toolserver"
)

// maxText is how many bytes of a result's text are kept, and of a structured one.
const maxText = 64 << 10

// answer is a result of tools/call as it is sent.
type answer struct {
	Content    []*part         `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	ResultType string          `json:"resultType"`
}

// part is one part of a result's content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Resource *struct {
		Text *string `json:"text"`
	} `json:"resource"`
}

// errNeedsInput says that the server asks its user for something.
var errNeedsInput = errors.New("the server asks its user for something")

// read makes a result of what a server has sent.
func read(raw json.RawMessage) (*toolserver.Result, error) {
	var a answer
	if raw == nil {
		return nil, errors.New("the result cannot be read")
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("the result cannot be read: %w", err)
	}
	switch a.ResultType {
	case "", "complete":
	case "input_required":
		return nil, errNeedsInput
	default:
		return nil, fmt.Errorf("the result is of a kind that is not known, %.40q", a.ResultType)
	}
	out := &toolserver.Result{Failed: a.IsError}
	if string(a.Structured) != "null" {
		out.Structured = a.Structured
	}
	var texts []string
	for _, p := range a.Content {
		switch {
		case p == nil:
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Type == "resource" && p.Resource != nil && p.Resource.Text != nil:
			texts = append(texts, *p.Resource.Text)
		case !slices.Contains(out.Dropped, kindOf(p)):
			out.Dropped = append(out.Dropped, kindOf(p))
		}
	}
	out.Text, out.Cut = toolserver.Cut(strings.Join(texts, "\n"), maxText)
	if len(out.Structured) > maxText {
		if out.Text == "" {
			return nil, errTooLarge
		}
		out.Structured, out.Dropped = nil, append(out.Dropped, toolserver.Structured)
	}
	return out, nil
}

// kindOf is the kind of a part that is left out; of one that nobody knows, "other".
func kindOf(p *part) string {
	switch p.Type {
	case "image", "audio", "resource", "resource_link":
		return p.Type
	}
	return "other"
}

// errTooLarge says that a result is too large, and has no text to cut.
var errTooLarge = errors.New("the result is too large")
