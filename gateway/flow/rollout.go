package flow

import (
	"context"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/routing"
	"github.com/callgate/callgate/gateway/internal/stage/textcall"
	"github.com/callgate/callgate/gateway/rollout"
)

// Rollout serves some requests in another way; see package rollout. Requests to other endpoints than
// chat are in none.
type Rollout struct {
	routing.Rollout
	// Policies are those of each arm, in the order of the rollout's arms, by the route.
	Policies map[string][]RoutePolicy
	// Mirror may be nil, and Shadow too.
	Mirror *Mirror
	Shadow *Shadow
}

// Unit is what stays in its arm.
type Unit = routing.Unit

// The units of a Rollout.
const (
	UnitConversation = routing.Conversation
	UnitUser         = routing.User
	UnitKey          = routing.Key
	UnitRequest      = routing.Request
)

// Mirror has an arm answer copies of requests that other arms have answered. Nobody gets the answers.
type Mirror struct {
	// Place is the arm's, and Parts the share of requests in hundredths of a percent.
	Place, Parts int
	Pool         *rollout.Pool
	// Memory bounds the copies and their answers; nil has no bound.
	Memory *inflight.Budget
	// Done is told of each copy that was answered: whose it is, what was asked in its place, and the
	// error's code, or "". It may be nil.
	Done func(live *gateway.Request, s *gateway.Summary, code string)
}

// Shadow reads the text of answers with another parser too.
type Shadow struct {
	Spec      gateway.ParserSpec
	Reasoning chain.Reasoning
	Pool      *rollout.Pool
}

// trial is a Rollout made ready: what the requests of each arm pass, by the route.
type trial struct {
	*Rollout
	arms map[string][]*compiled
}

// trials makes rollouts ready, each under the rollout that its figures are of.
func (s *shared) trials(list []Rollout, engine *attempt.Engine) map[*rollout.Rollout]*trial {
	out := map[*rollout.Rollout]*trial{}
	for i := range list {
		t := &trial{Rollout: &list[i], arms: map[string][]*compiled{}}
		for route, policies := range t.Policies {
			for _, p := range policies {
				c := s.compile(p, engine)
				if t.Shadow != nil { // in front of what reads the text
					c.stages = slices.Insert(c.stages, slices.Index(c.stages, gateway.Maker(s.text)), gateway.Maker(&textcall.Shadow{Parsers: s.options.Parsers, Spec: t.Shadow.Spec,
						Reasoning: t.Shadow.Reasoning, Rollout: t.Rollout.Rollout.Rollout, Pool: t.Shadow.Pool}))
				}
				t.arms[route] = append(t.arms[route], c)
			}
		}
		out[t.Rollout.Rollout.Rollout] = t
	}
	return out
}

// arm finds the arm of a rollout that a request is in, if in any, and what its requests pass.
func (g *Gateway) arm(req *gateway.Request, choice *routing.Choice, c *compiled) (*compiled, *trial, error) {
	if err := g.table.Arm(req, choice); err != nil || choice.Arm == nil {
		return c, nil, err
	}
	req.Routing.Arm = choice.Arm
	t := g.policies.trials[choice.Arm.Rollout]
	return t.arms[choice.Route][choice.Arm.Place], t, nil
}

// noArms is the error for a request that names an arm where there are none.
func noArms(req *gateway.Request) error {
	if req.Wishes.Arm == "" {
		return nil
	}
	return &gateway.Error{Kind: gateway.Invalid, Code: "arm_not_found", Param: "x-callgate-arm",
		Message: "Arms of rollouts are for chats, responses and messages: leave the header x-callgate-arm out here."}
}

// mirrored has a live answer followed by a copy of its request to the mirror's arm, if that is due.
func (g *Gateway) mirrored(ctx context.Context, req *gateway.Request, t *trial, resp *gateway.Response) {
	m := t.Mirror
	if m == nil || req.Routing.Arm.Forced || req.Routing.Arm.Place == m.Place || resp.Summary.Replayed() || !t.Share(req.ID, m.Parts) {
		return
	}
	meter := gateway.MeterOf(ctx)
	resp.Reply = &pairing{Reply: resp.Reply, callCollector: callCollector{summary: resp.Summary}, over: func(live rollout.Answer) { g.mirror(req, meter, t, live) }}
}

// mirror asks the mirror's arm what the client has an answer to already. The request is copied, since
// its memory is not there any more when the copy's turn comes.
func (g *Gateway) mirror(req *gateway.Request, meter gateway.Meter, t *trial, live rollout.Answer) {
	m := t.Mirror
	room := m.Memory.Claim()
	copied, err := req.Copy(room)
	if err != nil { // as if the queue had no room for it
		room.Close()
		m.Pool.Drop()
		return
	}
	copied.ID, copied.Routing.Mirror, copied.Wishes.MaxRetries = req.ID+"-mirror", true, new(int)
	offered := m.Pool.Offer(0, func(ctx context.Context) {
		defer room.Close()
		ctx, end := gateway.Copied(ctx, meter, copied)
		defer end()
		answer, summary, code := g.askMirror(ctx, copied, t)
		if ctx.Err() != nil {
			return
		}
		t.Pair(live, answer)
		if m.Done != nil {
			m.Done(copied, summary, code)
		}
	})
	if !offered {
		room.Close()
	}
}

// askMirror asks for an answer that nobody gets, and reads it to its end. Tools are not run here:
// that is done in front of the gateway, of which this is behind.
func (g *Gateway) askMirror(ctx context.Context, req *gateway.Request, t *trial) (rollout.Answer, *gateway.Summary, string) {
	failed := func(err error) (rollout.Answer, *gateway.Summary, string) {
		e := gateway.AsError(err)
		return rollout.Answer{Failed: true}, e.Summary, e.CodeOrDefault()
	}
	choice, ok := g.table.Choose(req)
	if !ok {
		return failed(g.models.missing(req.Model))
	}
	req.Routing.Route, req.Reading.Cache = choice.Route, g.lists
	req.Routing.Arm = &gateway.ArmChoice{Rollout: t.Rollout.Rollout.Rollout, Place: t.Mirror.Place}
	c, _, err := g.arm(req, choice, nil)
	if err != nil {
		return failed(err)
	}
	choice.Targets = slices.DeleteFunc(slices.Clone(choice.Targets), func(t gateway.Target) bool { return t.OfControl })
	resp, err := g.deadline.within(ctx, func(ctx context.Context) (*gateway.Response, error) {
		return g.ask(ctx, req, c, choice, time.Now(), nil)
	})
	if err != nil {
		return failed(err)
	}
	defer resp.Close()
	p := &pairing{Reply: resp.Reply, callCollector: callCollector{summary: resp.Summary}}
	if err := p.drain(); err != nil {
		return failed(err)
	}
	return p.answer(), resp.Summary, ""
}
