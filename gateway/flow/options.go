package flow

import (
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/responsecache"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/internal/routing"
	"github.com/callgate/callgate/gateway/internal/stage/bill"
	"github.com/callgate/callgate/gateway/quality"
)

// Options are what a Gateway is made of. The wiring in internal/cli fills them.
type Options struct {
	Providers map[string]gateway.Provider
	// Policies say what is done around a provider; one that is missing has the
	// defaults.
	Policies map[string]gateway.Policy
	// Routes maps the names that clients send to targets, of which the first is asked
	// first and the others if it fails. A name with gateway.AnyModel in it stands for
	// several, and that alone for all that have no other.
	Routes map[string][]gateway.Target
	// Rules are those of routes, the first of which that is met has its targets asked and
	// not the route's.
	Rules map[string][]Rule
	// Aliases maps further names, which may have gateway.AnyModel in them too, to the name
	// that is meant: of a route, of another alias, or "provider/model".
	Aliases map[string]string
	// Direct maps a provider's name to the target for models called
	// "provider/model"; the rest of the name is the upstream's.
	Direct map[string]gateway.Target
	// Unlisted are providers whose models are there, and are not among [Gateway.Models].
	Unlisted []string
	// NoModelHint is told a client that asks for a model which is not there, and not like any.
	NoModelHint string
	// RoutePolicies say what is watched over in the requests of a route, by its name;
	// one that is missing has RoutePolicy.
	RoutePolicies map[string]RoutePolicy
	RoutePolicy   RoutePolicy
	// Rollouts have some requests served in another way; the first that a request meets does.
	Rollouts []Rollout
	// Parsers may be nil if no target reads text.
	Parsers gateway.ParserSource
	// ReasoningField is the member that reasoning is written to. An upstream's own is
	// renamed. If it is empty that stays as it is, and what the gateway splits off
	// goes to "reasoning_content".
	ReasoningField string
	// Timeout bounds a request over all its attempts; 0 means DefaultTimeout.
	Timeout time.Duration
	// CacheSalt is the secret that keeps apart what tenants have sent, where targets are
	// chosen by what they have in their caches, and told of it, and where answers are kept.
	// Empty makes one.
	CacheSalt []byte
	// ShareIndex keeps what is learned about targets' caches for other gateways. Who sets
	// it fetches that from Index.
	ShareIndex bool
	// Prompts has the hashes of every prompt's blocks noted, in Summary.Prompt.
	Prompts bool
	// Stages are further ones, which answers pass behind ours. They may be nil.
	Stages []gateway.Maker
	// Meters says that requests may have a [gateway.Meter], which is told of each attempt, and
	// AsksUsage that upstreams are asked for the usage of such streams, which clients that do not want it
	// do not see.
	Meters, AsksUsage bool
	// Price is what answers cost, for LoopLimits; it may be nil: then nobody knows.
	Price Pricer
	// Trace may be nil.
	Trace attempt.Trace
	// OnChange is told when a breaker changes its state; it may be nil.
	OnChange func(breaker.Change)
	// Saved prices what an answer cost; it may be nil.
	Saved bill.Maker
	// Quality keeps how well targets call tools, as far as routes want it; it may be nil.
	Quality *quality.Book
	// Now is the clock that dates are taken from; nil means time.Now.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
	// Previous is the gateway whose place this one takes, nil for none. What it has learned goes
	// on, of providers that are the same value here, and CacheSalt and ShareIndex are to be its
	// own. It is not kept. See [Gateway.Begin].
	Previous *Gateway
}

// The parts of Options.
type (
	// Rule sends the requests of a route that meet a condition to targets of its own.
	Rule = routing.Rule
	// Condition is what a rule asks of a request.
	Condition = route.Condition
	// Answer is yes or no, or of no matter.
	Answer = route.Answer
	// AnswerPolicy says whether the answers of a route are kept, and given to those who ask
	// the same. The zero value keeps none.
	AnswerPolicy = responsecache.Policy
)

// The answers.
const (
	Either = route.Either
	Yes    = route.Yes
	No     = route.No
)

// DefaultTimeout is that of Options: one attempt of ten minutes and half another.
const DefaultTimeout = 15 * time.Minute

// RoutePolicy says what is watched over in the requests of a route and their answers.
// The zero value watches nothing.
type RoutePolicy struct {
	// Guard says what is done about an answer that claims an action, or owes one, and
	// calls no tool: Report says so, and Repair asks once more and demands the call.
	Guard gateway.Mode
	// GuardSettings are the rules of that.
	GuardSettings gateway.GuardSettings
	// Judge is the provider and model, as provider/model, that is asked where the rules are not
	// sure, and JudgeTime how long it may take, 3 s if it is 0. "" asks nobody.
	Judge     string
	JudgeTime time.Duration
	// Loop says what is done about a conversation that calls tools without an end.
	Loop gateway.LoopAction
	// LoopLimits say when that is.
	LoopLimits gateway.LoopLimits
	// Binding says what is done about tools that do not reach the model.
	Binding gateway.BindingAction
	// References says what is done about arguments that refer to earlier results:
	// Report says what Repair would put in their place.
	References gateway.Mode
	// ReferenceRules are those of the configuration; tools may bring their own.
	ReferenceRules []gateway.ReferenceRule
	// Date is the time zone of the date that is put into the system prompt; nil puts
	// none.
	Date *time.Location
	// Affinity sends a request to the target that has the most of its prompt in its
	// cache, if that is not too busy. Otherwise the targets' order and weights decide.
	Affinity bool
	// CacheHints says whether providers are told which beginning of a prompt they are to
	// find in their caches: Report says what Repair would tell them. What a provider takes
	// is in its Policy.
	CacheHints gateway.Mode
	// FallbackOn are the failures of answers and requests behind which another target is asked.
	FallbackOn []gateway.Cause
	// Quality says what is done about targets that call tools worse than others of the route: Report
	// counts, and says what Repair would do, which gives them fewer new conversations.
	Quality gateway.Mode
	// QualitySettings are the bounds of that; their Apply is of no matter.
	QualitySettings quality.Settings
	// Execution adds what was done to the answer's body.
	Execution bool
	// Answers says whether answers are kept for those who ask the same.
	Answers AnswerPolicy
}

// routing is the part of the options that says which targets a model's name leads to.
func (o *Options) routing() routing.Config {
	c := routing.Config{Routes: o.Routes, Rules: o.Rules, Aliases: o.Aliases, Direct: o.Direct}
	for i := range o.Rollouts {
		c.Rollouts = append(c.Rollouts, o.Rollouts[i].Rollout)
	}
	return c
}
