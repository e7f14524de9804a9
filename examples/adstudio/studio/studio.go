// Package studio talks with the model, through a Callgate: a conversation for each ad, which
// the gateway keeps and whose tools it runs. There is no loop of tools here.
package studio

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

// Instructions are what the model is told in each turn. They are the same for all ads, so
// that upstreams have them in their caches.
//
//go:embed instructions.md
var Instructions string

// Studio is a client of the gateway.
type Studio struct {
	client openai.Client
	model  string
	prices Prices
}

// New returns a client of the gateway at a base URL, with its /v1. Its model has the tools of
// the studio; model + "-title" is one without.
func New(base, key, model string, prices Prices) *Studio {
	return &Studio{
		// The gateway retries, and knows which tools have run.
		client: openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithMaxRetries(0)),
		model:  model, prices: prices,
	}
}

// Answer is what a turn gave.
type Answer struct {
	Conversation string // its id; another one where the gateway has lost the one before
	Text         string
	Cost         ads.Cost
}

// Turn says something in an ad's conversation, which begins with it if there is none. With
// text the answer is streamed to it, too. An answer that breaks off comes with its error.
func (s *Studio) Turn(ctx context.Context, a *ads.Ad, message string, text func(string)) (Answer, error) {
	answer := Answer{Conversation: a.Conversation}
	began := time.Now()
	for tries := 0; ; tries++ {
		if answer.Conversation == "" {
			c, err := s.client.Conversations.New(ctx, conversations.ConversationNewParams{Metadata: shared.Metadata{"ad": a.ID}})
			if err != nil {
				return answer, plain(err)
			}
			answer.Conversation = c.ID
		}
		heard := &said{}
		var resp *responses.Response
		var err error
		if params := s.request(a, answer.Conversation, message); text == nil {
			resp, err = s.client.Responses.New(ctx, params, option.WithMiddleware(heard.listen))
		} else {
			resp, err = s.stream(ctx, params, heard, func(piece string) {
				answer.Text += piece
				text(piece)
			})
		}
		if lost := (*openai.Error)(nil); tries == 0 && errors.As(err, &lost) && lost.StatusCode == http.StatusNotFound && strings.Contains(lost.Message, answer.Conversation) {
			answer.Conversation = "" // the gateway's store is gone. What the ad has, the tools know
			answer.Cost.Notes = "The gateway had no more of this conversation, so a new one has begun."
			continue
		}
		if resp != nil {
			if whole := resp.OutputText(); whole != "" {
				answer.Text = whole
			}
			s.bill(&answer.Cost, resp, heard)
		}
		answer.Cost.Took = time.Since(began).Round(time.Millisecond)
		return answer, plain(err)
	}
}

// request is that of a turn.
func (s *Studio) request(a *ads.Ad, conversation, message string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model:        s.model,
		Instructions: openai.String(Instructions),
		Conversation: responses.ResponseNewParamsConversationUnion{OfString: openai.String(conversation)},
		Input:        responses.ResponseNewParamsInputUnion{OfString: openai.String(framed(a, message))},
		Metadata:     metadata(a), // the gateway's rules route by it
		// The gateway's rollouts share ads out by it, so that an ad stays with the model it began with.
		SafetyIdentifier: openai.String(a.ID),
	}
}

// stream makes a request whose answer comes in pieces.
func (s *Studio) stream(ctx context.Context, params responses.ResponseNewParams, heard *said, text func(string)) (*responses.Response, error) {
	stream := s.client.Responses.NewStreaming(ctx, params, option.WithMiddleware(heard.listen))
	defer stream.Close()
	var last *responses.Response
	for stream.Next() {
		switch e := stream.Current(); e.Type {
		case "response.output_text.delta":
			text(e.Delta)
		case "response.completed", "response.incomplete", "response.failed":
			last = &e.Response
		}
	}
	err := stream.Err()
	switch {
	case err != nil:
	case last == nil:
		err = errors.New("the answer broke off")
	case last.Status == responses.ResponseStatusFailed:
		err = errors.New(last.Error.Message)
	}
	return last, err
}

// framed puts what the model must know in front of the user's words. It is at their
// beginning in each turn, so that it is not lost when the gateway summarizes a long
// conversation.
func framed(a *ads.Ad, message string) string {
	frame := "Ad " + a.ID
	for _, f := range [][2]string{{"language", a.Language}, {"market", a.Market}, {"budget", a.Budget}} {
		if f[1] != "" {
			frame += ", " + f[0] + " " + f[1]
		}
	}
	return frame + ".\n\n" + message
}

func metadata(a *ads.Ad) shared.Metadata {
	m := shared.Metadata{}
	for name, value := range map[string]string{"language": a.Language, "market": a.Market, "budget": a.Budget} {
		if value != "" {
			m[name] = value
		}
	}
	return m
}

// bill is what the turn cost, by what the gateway and the upstream say.
func (s *Studio) bill(c *ads.Cost, resp *responses.Response, heard *said) {
	u := resp.Usage
	c.InputTokens, c.CachedTokens, c.OutputTokens = u.InputTokens, u.InputTokensDetails.CachedTokens, u.OutputTokens
	c.Model, c.Route, c.Arm, c.Rounds = resp.Model, heard.of("route"), heard.of("arm"), heard.of("tool_run")
	c.Notes = strings.TrimSpace(c.Notes + " " + notes(heard.of("warnings")))
	if p, ok := s.prices.of(resp.Model); ok {
		c.Priced = true
		c.USD, c.SavedUSD = p.cost(c.InputTokens, c.CachedTokens, c.OutputTokens)
	}
}

// notes are the gateway's warnings, as a user may read them.
func notes(warnings string) string {
	var all []string
	for w := range strings.SplitSeq(warnings, ",") {
		kind, what, _ := strings.Cut(strings.TrimSpace(w), ":")
		switch kind {
		case "", "prefix_changed": // of use to who writes an app
		case "compacted":
			all = append(all, "The gateway has put a summary in the place of "+what+" items of the conversation.")
		default:
			all = append(all, w)
		}
	}
	return strings.Join(all, " ")
}

// Title names an ad by its brief. The request asks for the same again, so that the gateway
// answers an equal one from its own cache; cache is what it says of that.
func (s *Studio) Title(ctx context.Context, brief string) (title, cache string, err error) {
	const most = 60
	heard := &said{}
	resp, err := s.client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model: s.model + "-title",
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage("Name the radio ad of this brief in at most five words. Answer with the name alone."),
			openai.UserMessage(brief),
		},
		Seed: openai.Int(1),
	}, option.WithMiddleware(heard.listen))
	if err != nil {
		return "", "", plain(err)
	}
	if len(resp.Choices) == 0 {
		return "", "", errors.New("the gateway gave no title")
	}
	title = strings.Trim(strings.TrimSpace(resp.Choices[0].Message.Content), `".`)
	return string([]rune(title)[:min(len([]rune(title)), most)]), heard.of("cache"), nil
}

// plain is an error as a user may read it.
func plain(err error) error {
	var e *openai.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &ads.Error{Type: "unavailable", Message: "The turn was stopped."}
	case errors.As(err, &e) && e.Message != "":
		return &ads.Error{Type: "unavailable", Message: fmt.Sprintf("The gateway answered %d: %s", e.StatusCode, e.Message)}
	case errors.As(err, &e):
		return &ads.Error{Type: "unavailable", Message: fmt.Sprintf("The gateway answered %d.", e.StatusCode)}
	}
	return &ads.Error{Type: "unavailable", Message: "The gateway cannot be asked: " + err.Error()}
}
