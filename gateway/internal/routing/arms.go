package routing

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/wire"
)

// Rollout has some requests of its routes served in another way. The first that a request meets has
// it; one that a rule leads elsewhere is in none, since the rule may be there to keep it away from
// targets.
type Rollout struct {
	*rollout.Rollout
	Unit Unit
	// Keys are patterns of the names of clients' keys, and Headers is as that of a condition; nil is
	// any. Both are of no matter to a client that names the arm.
	Keys    []string
	Headers map[string][]string
	// Targets are those of each arm, in the order of the rollout's arms, by the route.
	Targets map[string][][]gateway.Target
}

// Unit is what stays in its arm.
type Unit int

// The units.
const (
	Conversation Unit = iota // of a key: the system prompt and the first message of the user
	User                     // of a key, as the request names it; without one it is the conversation
	Key
	Request
)

// arms are the rollouts of a table.
type arms []armed

// armed is a rollout made ready.
type armed struct {
	Rollout
	keys  []route.Glob
	rules *route.Rules // nil: any request
}

func newArms(list []Rollout) (out arms) {
	for _, r := range list {
		a := armed{Rollout: r}
		for _, k := range r.Keys {
			a.keys = append(a.keys, route.NewGlob(k))
		}
		if len(r.Headers) > 0 {
			a.rules = route.NewRules([]route.Condition{{Headers: r.Headers}})
		}
		out = append(out, a)
	}
	return out
}

// choose finds the arm that a request is in, and its targets. A request that has one keeps it.
func (all arms) choose(r *gateway.Request, c *Choice) error {
	if r.Wishes.Arm != "" && r.Routing.Arm == nil {
		return all.forced(r, c)
	}
	for i := range all {
		a := &all[i]
		targets := a.Targets[c.Route]
		switch {
		case r.Routing.Arm != nil && r.Routing.Arm.Rollout == a.Rollout.Rollout && targets != nil:
			c.Arm = r.Routing.Arm
		case r.Routing.Arm != nil || targets == nil || c.Rule > 0 || !a.meets(r):
			continue
		default:
			episode := episodeOf(r)
			c.Arm = &gateway.ArmChoice{Rollout: a.Rollout.Rollout, Place: a.Arm(a.unit(r, episode)), Episode: episode}
			c.Arm.Spoiled = a.Spoiled(episode)
		}
		c.Targets = targets[c.Arm.Place]
		return nil
	}
	return nil
}

func (a *armed) meets(r *gateway.Request) bool {
	if a.keys != nil && !slices.ContainsFunc(a.keys, func(g route.Glob) bool { return g.Match(keyOf(r)) }) {
		return false
	}
	return a.rules == nil || a.rules.First(&facts{req: r}) == 0
}

// keyOf is the name of the client's key, "" without one.
func keyOf(r *gateway.Request) string {
	if r.From.Client != nil {
		return r.From.Client.Key
	}
	return r.From.Tenant
}

// unit is what stays in its arm.
func (a *armed) unit(r *gateway.Request, episode uint64) string {
	switch a.Unit {
	case Key:
		return "key|" + keyOf(r)
	case Request:
		return "request|" + r.ID
	case User:
		if user := userOf(r); user != "" {
			return "user|" + keyOf(r) + "|" + user
		}
	}
	return fmt.Sprintf("conversation|%016x", episode)
}

// userOf is the user that a request names, as OpenAI's API has it or, in its metadata, as Anthropic's.
// What a client of the latter says is a hash by now, as package messages makes it for upstreams; it is
// hashed here too, so that a user is the same one in all protocols.
func userOf(r *gateway.Request) string {
	body := r.Body.Bytes()
	root := wire.Span{End: len(body)}
	for _, name := range [...]string{"safety_identifier", "user"} {
		if user, ok := text(body, wire.Find(body, root, name)); ok && user != "" {
			if r.Source != nil && r.Source.Protocol == "messages" {
				return user
			}
			return hashed(user)
		}
	}
	f := facts{req: r, keys: []string{"user_id"}}
	if user, _ := f.Metadata("user_id"); user != "" {
		return hashed(user)
	}
	return ""
}

func hashed(user string) string {
	sum := sha256.Sum256([]byte(user))
	return "user_" + hex.EncodeToString(sum[:16])
}

// episodeOf stands for the conversation: what comes before the model's first word, which stays as it
// is in every further turn.
func episodeOf(r *gateway.Request) uint64 {
	d := xxhash.New()
	_, _ = d.WriteString(keyOf(r)) // no write to a hash fails
	if !r.Reading.HasMessages() {
		return d.Sum64()
	}
	talk := r.Reading.Conversation()
	for _, m := range talk.Messages {
		if m.Role != conversation.System && m.Role != conversation.User {
			break
		}
		said := talk.Said(m)
		if said == "" { // an image, and nothing else
			said = string(m.Content.Of(talk.Text))
		}
		_, _ = fmt.Fprintf(d, "\x00%d\x00%s", m.Role, said)
		if m.Role == conversation.User {
			break
		}
	}
	return d.Sum64()
}

// armParam is where a client names an arm.
const armParam = "x-callgate-arm"

// forced puts a request into the arm that its client names, if it may.
func (all arms) forced(r *gateway.Request, c *Choice) error {
	if !mayChoose(r) {
		return &gateway.Error{Kind: gateway.Forbidden, Code: "arm_not_allowed", Param: armParam,
			Message: fmt.Sprintf("This key may not choose the arm %q: leave the header %s out, or have the arm added to the key's arms.", gateway.Excerpt([]byte(r.Wishes.Arm)), armParam)}
	}
	var names []string
	for i := range all {
		a := &all[i]
		for place, name := range a.Arms() {
			full := a.Name() + "/" + name
			names = append(names, full)
			if full != r.Wishes.Arm {
				continue
			}
			targets := a.Targets[c.Route]
			if targets == nil || c.Rule > 0 {
				return noArm(fmt.Sprintf("The rollout %q is not about this request for the model %q: another model is, or a rule leads it elsewhere.", a.Name(), gateway.Excerpt([]byte(r.Model))))
			}
			c.Arm = &gateway.ArmChoice{Rollout: a.Rollout.Rollout, Place: place, Episode: episodeOf(r), Forced: true}
			c.Targets = targets[place]
			return nil
		}
	}
	message := fmt.Sprintf("There is no arm %q.", gateway.Excerpt([]byte(r.Wishes.Arm)))
	if near := gateway.Near(r.Wishes.Arm, names); len(near) > 0 {
		message += " Similar ones: " + strings.Join(near, ", ") + "."
	} else {
		message += " The header " + armParam + " names a rollout and its arm, as rollout/arm."
	}
	return noArm(message)
}

func noArm(message string) error {
	return &gateway.Error{Kind: gateway.Invalid, Code: "arm_not_found", Param: armParam, Message: message}
}

// mayChoose reports whether the client may choose the arm that it asks for. Where there are no keys
// everybody may, who can connect.
func mayChoose(r *gateway.Request) bool {
	if r.From.Client == nil {
		return r.From.Tenant == ""
	}
	return slices.ContainsFunc(r.From.Client.Arms, func(p string) bool { return route.NewGlob(p).Match(r.Wishes.Arm) })
}
