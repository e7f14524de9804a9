package protocol

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// CheckCompletion says why a whole answer that came with status 200 is none, as an error of the upstream's:
// MiniMax's own errors are no completions, and OpenRouter sends "choices": null where it has no answer
// (pydantic-ai, models/openrouter.py). A nil frame is no answer either.
func CheckCompletion(f *wire.Frame) error {
	switch {
	case f == nil || !f.IsChunk():
		return &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's answer is no chat completion."}
	case len(f.Choices()) == 0:
		return &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's answer has no choice."}
	}
	return nil
}
