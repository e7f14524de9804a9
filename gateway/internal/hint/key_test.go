package hint_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/internal/hint"
)

// clock is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)} }

var (
	scope  = hint.Scope{Tenant: "acme", Provider: "openai", Model: "gpt-5.5"}
	system = message("system", strings.Repeat("You answer in full sentences. ", 200))
)

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

// beginning is one of a conversation with a system prompt.
func beginning(system, user string) hint.Beginning {
	first := []byte(message("user", user))
	return hint.Beginning{Common: [][]byte{[]byte(`[{"type":"function"}]`), []byte(system), first}, First: first}
}

func conversationOf(n int) hint.Beginning { return beginning(system, fmt.Sprintf("question %d", n)) }

// TestKeyForm: OpenAI takes up to 64 characters.
func TestKeyForm(t *testing.T) {
	t.Parallel()
	key := hint.NewKeys([]byte("salt"), nil).Key(scope, conversationOf(1))
	if !regexp.MustCompile(`^[0-9a-f]{28}0000$`).MatchString(key) {
		t.Errorf("got the key %q, want 28 hexadecimal digits and 0000", key)
	}
}

// TestKeyOfOthers: who has another salt, tenant, provider, model or system prompt has
// another key, and who differs in what is no part of a shared prompt has the same.
func TestKeyOfOthers(t *testing.T) {
	t.Parallel()
	of := func(salt string, s hint.Scope, b hint.Beginning) string {
		return hint.NewKeys([]byte(salt), nil).Key(s, b)
	}
	want := of("salt", scope, conversationOf(1))
	for name, tt := range map[string]struct {
		key  string
		same bool
	}{
		"again":              {of("salt", scope, conversationOf(1)), true},
		"another question":   {of("salt", scope, conversationOf(2)), true},
		"a clock far behind": {of("salt", scope, beginning(strings.TrimSuffix(system, `"}`)+`12:00"}`, "question 1")), true},
		"more messages":      {of("salt", scope, hint.Beginning{Common: append(conversationOf(1).Common, []byte("{}"))}), true},
		"salt":               {of("pepper", scope, conversationOf(1)), false},
		"tenant":             {of("salt", hint.Scope{Tenant: "other", Provider: "openai", Model: "gpt-5.5"}, conversationOf(1)), false},
		"provider":           {of("salt", hint.Scope{Tenant: "acme", Provider: "azure", Model: "gpt-5.5"}, conversationOf(1)), false},
		"model":              {of("salt", hint.Scope{Tenant: "acme", Provider: "openai", Model: "gpt-5.4"}, conversationOf(1)), false},
		"names that run on":  {of("salt", hint.Scope{Tenant: "acmeopenai", Model: "gpt-5.5"}, conversationOf(1)), false},
		"system prompt":      {of("salt", scope, beginning(strings.Replace(system, "full", "short", 1), "question 1")), false},
		"short prompt":       {of("salt", scope, beginning(`{"role":"system","content":"Short."}`, "question 1")), false},
	} {
		if got := tt.key == want; got != tt.same {
			t.Errorf("%s: got the same key %v, want %v", name, got, tt.same)
		}
	}
}

// traffic sends requests of conversations in turn, evenly over a time, and returns what
// keys each had, and how often each key was used.
func traffic(k *hint.Keys, c *clock, conversations, requests int, over time.Duration) (keys map[int]map[string]bool, used map[string]int) {
	keys, used = map[int]map[string]bool{}, map[string]int{}
	for i := range requests {
		n := i % conversations
		key := k.Key(scope, conversationOf(n))
		if keys[n] == nil {
			keys[n] = map[string]bool{}
		}
		keys[n][key] = true
		used[key]++
		c.pass(over / time.Duration(requests))
	}
	return keys, used
}

// TestKeyRates: up to 15 requests a minute share a key. With more there are about as many
// keys as keep each at 12, conversations are spread over all of them, and each stays with
// its own.
func TestKeyRates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ perMinute, least, most int }{{1, 1, 1}, {15, 1, 1}, {30, 2, 3}, {120, 9, 12}, {1200, 90, 103}} {
		t.Run(fmt.Sprint(tt.perMinute), func(t *testing.T) {
			t.Parallel()
			c := newClock()
			k := hint.NewKeys([]byte("salt"), c.now)
			conversations := 2 * tt.perMinute
			traffic(k, c, conversations, 3*tt.perMinute, 3*time.Minute) // until the rate is known
			keys, used := traffic(k, c, conversations, 6*tt.perMinute, 6*time.Minute)
			if n := len(used); n < tt.least || n > tt.most {
				t.Errorf("got %d keys, want %d to %d", n, tt.least, tt.most)
			}
			moved := 0
			for _, own := range keys {
				moved += len(own) - 1
			}
			if moved > conversations/20 {
				t.Errorf("got %d changes of keys of %d conversations, want almost none at a steady rate", moved, conversations)
			}
		})
	}
}

// TestKeyPause: a pause shorter than caches are kept moves nobody, and one that is longer
// brings all back to one key.
func TestKeyPause(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := hint.NewKeys([]byte("salt"), c.now)
	busy := func() map[int]map[string]bool {
		keys, _ := traffic(k, c, 60, 120, time.Minute)
		return keys
	}
	busy()
	before := busy()
	c.pass(3 * time.Minute)
	first := map[string]bool{}
	for n := range 15 {
		key := k.Key(scope, conversationOf(n))
		if first[key] = true; !before[n][key] {
			t.Errorf("conversation %d: got another key behind a pause", n)
		}
	}
	if len(first) < 2 {
		t.Errorf("got %d keys behind a pause, want several", len(first))
	}
	c.pass(20 * time.Minute)
	last := map[string]bool{}
	for n := range 15 {
		last[k.Key(scope, conversationOf(n))] = true
	}
	if len(last) != 1 {
		t.Errorf("got %d keys behind a long pause, want one", len(last))
	}
}

// TestKeysTogether: goroutines that ask at once count together.
func TestKeysTogether(t *testing.T) {
	t.Parallel()
	c := newClock()
	k := hint.NewKeys([]byte("salt"), c.now)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for n := range 150 {
				k.Key(scope, conversationOf(8*n+g))
			}
		})
	}
	all.Wait()
	used := map[string]bool{}
	for n := range 1200 {
		used[k.Key(scope, conversationOf(n))] = true
	}
	if len(used) < 90 {
		t.Errorf("got %d keys for 1200 requests in a minute, want about 100 or more", len(used))
	}
}
