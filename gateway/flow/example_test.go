package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/demo"
	"github.com/callgate/callgate/sdk/abi"
)

// signature makes a stage that signs every text. It knows no other stage: what they have made
// of the text is in the frame, and whether there is a call is in the outcome.
type signature string

// Begin implements gateway.Maker.
func (s signature) Begin(_ context.Context, _ *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	return &signing{text: string(s), outcome: o}, nil
}

type signing struct {
	text    string
	outcome *gateway.Outcome
}

// Frame implements gateway.Stage. A whole answer and the last chunk of a streamed one are the
// frames with a finish reason.
func (s *signing) Frame(f *wire.Frame, next gateway.Sink) error {
	for i, c := range f.Choices() {
		if c.Reason != "stop" || s.outcome.HasCall() {
			continue
		}
		signed := abi.Event{Kind: abi.Content, Text: s.text}
		if events, ok := f.Events(i); ok { // another stage has read the text
			f.Change(i).SetEvents(append(slices.Clip(events), signed))
		} else {
			text, _ := f.Text(i)
			f.Change(i).PutText([]abi.Event{{Kind: abi.Content, Text: string(text)}, signed}, "")
		}
	}
	next.Put(f)
	return nil
}

// End implements gateway.Stage. Nothing was held, so nothing is left to say.
func (s *signing) End(error, gateway.Sink) error { return nil }

// A new stage is one file with a gateway.Maker, and one line that puts it in its place: in
// flow.Options.Stages, behind the gateway's own.
func ExampleOptions_stages() {
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"demo": demo.New(demo.Config{Delay: -1})},
		Routes:    map[string][]gateway.Target{"echo": {{Provider: "demo", Model: "echo", Mode: gateway.Repair}}},
		Stages:    []gateway.Maker{signature(" (written by a machine)")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, kind := range []string{"false", "true"} {
		body := `{"model": "echo", "stream": ` + kind + `, "messages": [{"role": "user", "content": "Good morning."}]}`
		fmt.Println("stream:", kind, "text:", said(g, body))
	}
	// Output:
	// stream: false text: Good morning. (written by a machine)
	// stream: true text: Good morning. (written by a machine)
}

// said is the text of the answer to a request.
func said(g *flow.Gateway, body string) (text string) {
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		return err.Error()
	}
	resp, err := g.Chat(context.Background(), req)
	if err != nil {
		return err.Error()
	}
	defer resp.Close()
	var out []byte
	front := chat.NewWriter(resp)
	for f, err := resp.Next(); err == nil; f, err = resp.Next() {
		if f != nil {
			out, _ = front.Frame(out, f)
			out = append(out, '\n')
		}
	}
	for line := range bytes.Lines(out) {
		var answer struct {
			Choices []struct{ Message, Delta struct{ Content string } }
		}
		_ = json.Unmarshal(bytes.TrimPrefix(line, []byte("data: ")), &answer) // not all lines are JSON
		for _, c := range answer.Choices {
			text += c.Message.Content + c.Delta.Content
		}
	}
	return text
}
