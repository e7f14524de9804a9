package flow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/prefix"
)

// caches are n upstreams with prompt caches of their own, as targets of one route.
type caches struct {
	gateway *flow.Gateway
	actors  map[string]*actor
}

func newCaches(t *testing.T, n int, change ...func(*flow.Options)) *caches {
	t.Helper()
	c := &caches{actors: map[string]*actor{}}
	o := flow.Options{Providers: map[string]gateway.Provider{}, Routes: map[string][]gateway.Target{}, Policies: map[string]gateway.Policy{},
		RoutePolicy: flow.RoutePolicy{Affinity: true}, CacheSalt: []byte("salt")}
	for i := range n {
		name := fmt.Sprintf("up%d", i)
		c.actors[name] = acts(turn{})
		o.Providers[name], o.Routes["m"] = c.actors[name], append(o.Routes["m"], gateway.Target{Provider: name, Mode: gateway.Repair})
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if c.gateway, err = flow.New(o); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a conversation's turn, and returns what the summary says of it.
func (c *caches) ask(t *testing.T, tenant string, messages ...string) gateway.Summary {
	t.Helper()
	var list []map[string]string
	for i, text := range messages {
		list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
	}
	b, _ := json.Marshal(list)
	req, err := gateway.ParseRequest([]byte(strings.Replace(request, `"messages":[]`, `"messages":`+string(b), 1)))
	if err != nil {
		t.Fatal(err)
	}
	req.From.Tenant = tenant
	resp, err := c.gateway.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	for err == nil {
		_, err = resp.Next()
	}
	return *resp.Summary
}

// words is text of which no block is like another's.
func words(topic string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d, ", topic, i)
	}
	return b.String()
}

// TestAffinity holds that the turns of a conversation go where the turn before went, that
// conversations are spread, and that a tenant learns nothing of another's.
func TestAffinity(t *testing.T) {
	t.Parallel()
	c := newCaches(t, 4)
	used := map[string]int{}
	for i := range 24 {
		first := words(fmt.Sprint("topic ", i), 400)
		one := c.ask(t, "a", first)
		two := c.ask(t, "a", first, "Well.", "And then?")
		three := c.ask(t, "a", first, "Well.", "And then?", "That.", words("more", 50))
		if one.Provider != two.Provider || two.Provider != three.Provider {
			t.Errorf("conversation %d went to %s, %s and %s", i, one.Provider, two.Provider, three.Provider)
		}
		if two.Prefix == nil || two.Prefix.Expected < two.Prefix.Blocks-1 || two.Prefix.Expected == 0 {
			t.Errorf("conversation %d: the second turn expects %s", i, observe.PrefixText(&two))
		}
		if other := c.ask(t, "b", first, "Well.", "And then?"); other.Prefix.Expected != 0 {
			t.Errorf("conversation %d: another tenant's expects %s", i, observe.PrefixText(&other))
		}
		used[one.Provider]++
	}
	for name := range c.actors {
		if used[name] < 2 || used[name] > 12 {
			t.Errorf("of 24 conversations the upstreams have %v", used)
			break
		}
	}
}

// TestAffinityOfTheDead holds that a target whose breaker opens loses its conversations to
// the others, that no request is lost, and that it is not believed to know them any more.
func TestAffinityOfTheDead(t *testing.T) {
	t.Parallel()
	c := newCaches(t, 2, func(o *flow.Options) {
		for name := range o.Providers {
			o.Policies[name] = gateway.Policy{Failures: 1, Open: 1 << 40}
		}
	})
	first := words("the dead", 400)
	was := c.ask(t, "a", first).Provider
	c.actors[was].mu.Lock()
	c.actors[was].turns = []turn{{err: unavailable}}
	c.actors[was].mu.Unlock()
	s := c.ask(t, "a", first, "Yes.", "And?")
	if s.Provider == was || len(s.Attempts) != 2 {
		t.Errorf("got an answer of %s after %d attempts", s.Provider, len(s.Attempts))
	}
	if s.Prefix == nil || s.Prefix.Reason != prefix.Fallback || s.Prefix.Expected != 0 || s.Prefix.Blocks == 0 || !strings.HasPrefix(s.Prefix.Target, s.Provider+"/") {
		t.Errorf("got %+v, want a fallback that has nothing of the prompt", s.Prefix)
	}
	for _, target := range c.gateway.Caches().Targets {
		if strings.HasPrefix(target.Target, was) && target.Entries != 0 {
			t.Errorf("%d blocks of %s are remembered", target.Entries, target.Target)
		}
	}
	if s := c.ask(t, "a", first, "Yes.", "And?", "So.", "Go on."); s.Provider == was || s.Prefix.Expected == 0 {
		t.Errorf("the next turn went to %s: %s", s.Provider, observe.PrefixText(&s))
	}
}

// TestAffinityOfFallbacks holds that what is said of the prompt is about the target that
// answered: one that knows it well, though another was chosen and failed, and the chosen
// one, when it is asked once more.
func TestAffinityOfFallbacks(t *testing.T) {
	t.Parallel()
	c := newCaches(t, 2, func(o *flow.Options) {
		for name := range o.Providers {
			o.Policies[name] = gateway.Policy{Retry: gateway.RetryPolicy{Max: 2, Base: 1}}
		}
	})
	fails := func(name string, errs ...*gateway.Error) {
		c.actors[name].mu.Lock()
		defer c.actors[name].mu.Unlock()
		c.actors[name].turns, c.actors[name].asked = nil, nil
		for _, err := range errs {
			c.actors[name].turns = append(c.actors[name].turns, turn{err: err})
		}
		c.actors[name].turns = append(c.actors[name].turns, turn{})
	}
	first := words("fallbacks", 400)
	was := c.ask(t, "a", first).Provider
	fails(was, unavailable)
	other := c.ask(t, "a", first, "Yes.", "And?")
	if other.Provider == was {
		t.Fatalf("got %s, want the other one", other.Provider)
	}
	fails(was, unavailable) // the chosen one, as it has the same and the hash prefers it, or not
	third := c.ask(t, "a", first, "Yes.", "And?")
	if p := third.Prefix; p.Expected == 0 || p.Expected < p.Blocks-1 || third.Provider == was && p.Reason == prefix.Fallback {
		t.Errorf("got %s of %s, want nearly all expected of it", observe.PrefixText(&third), third.Provider)
	}
	fails(was, unavailable)
	fails(other.Provider, unavailable)
	last := c.ask(t, "a", first, "Yes.", "And?")
	if p := last.Prefix; len(last.Attempts) != 3 || p.Expected < p.Blocks-1 || p.Target != last.Provider+"/" {
		t.Errorf("got %s of %s after %d attempts, want nearly all expected after 3", observe.PrefixText(&last), last.Provider, len(last.Attempts))
	}
}

// TestAffinityWithoutCache holds that a target which reports again and again that it had
// nothing is not believed to have anything, and is believed again when it reports something.
func TestAffinityWithoutCache(t *testing.T) {
	t.Parallel()
	c := newCaches(t, 3)
	reports := func(cached int) {
		for _, a := range c.actors {
			a.mu.Lock()
			good := stream("stop", "Hi.").blocks
			count := fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":4000,"prompt_tokens_details":{"cached_tokens":%d}}}`, cached)
			a.turns = []turn{{blocks: slices.Insert(slices.Clone(good), len(good)-1, count)}}
			a.mu.Unlock()
		}
	}
	reports(0)
	first := words("no cache", 800)
	was := c.ask(t, "a", first).Provider
	for i := range 5 {
		if s := c.ask(t, "a", first); s.Provider != was || s.Prefix.Expected == 0 {
			t.Fatalf("turn %d: got %s of %s, want something expected of %s", i, observe.PrefixText(&s), s.Provider, was)
		}
	}
	without := func() (n int) {
		for _, target := range c.gateway.Caches().Targets {
			if !target.Caches {
				n++
			}
		}
		return n
	}
	if got := without(); got != 1 {
		t.Errorf("got %d targets without a cache, want 1", got)
	}
	for i := 0; without() < 3 && i < 30; i++ { // the others are asked now, and found out as well
		c.ask(t, "a", first)
	}
	if s := c.ask(t, "a", first); s.Prefix.Expected != 0 || s.Prefix.Reason == prefix.Cached {
		t.Errorf("got %s, want nothing expected of targets without caches", observe.PrefixText(&s))
	}
	reports(2000)
	for range 4 { // until it is the turn of each
		c.ask(t, "a", first)
	}
	if s := c.ask(t, "a", first); s.Prefix.Expected == 0 {
		t.Errorf("got %s, want the cache expected that it has now", observe.PrefixText(&s))
	}
}

// TestAffinityHammer asks from many goroutines, for the race detector.
func TestAffinityHammer(t *testing.T) {
	t.Parallel()
	c := newCaches(t, 3)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 25 {
				c.ask(t, fmt.Sprint(i%3), words("shared", 100), "Yes.", words(fmt.Sprint(i), n))
			}
		})
	}
	all.Wait()
	answered := uint64(0)
	for _, target := range c.gateway.Caches().Targets {
		answered += target.Choices
	}
	if answered != 200 {
		t.Errorf("%d choices are counted, want 200", answered)
	}
}
