package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// answerWithDefaults answers a server that asks its user for something: with the defaults that its own
// schema names, if it must have nothing else. Otherwise the call becomes an error of the kind
// needs_input; a server with sessions, which waits for an answer in the midst of the call, is told that
// its user has declined.
func answerWithDefaults(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if content, ok := defaultsOf(req.Params); ok {
		return &sdk.ElicitResult{Action: "accept", Content: content}, nil
	}
	if r := req.Session.InitializeResult(); r != nil && r.ProtocolVersion < modern {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	return nil, errNeedsInput
}

func defaultsOf(p *sdk.ElicitParams) (map[string]any, bool) {
	if p.Mode == "url" {
		return nil, false
	}
	var schema struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil || json.Unmarshal(raw, &schema) != nil {
		return nil, false
	}
	out := map[string]any{}
	for name, property := range schema.Properties {
		if property.Default != nil {
			out[name] = property.Default
		}
	}
	for _, name := range schema.Required {
		if _, ok := out[name]; !ok {
			return nil, false
		}
	}
	return out, true
}
