package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// fleet is a gateway with four upstreams, which are the targets of one route, and two
// clients.
type fleet struct {
	*gate
	sites map[string]*warmSite
}

const fleetKeys = "keys: [{name: alice, hash: %q}, {name: bob, hash: %q}]\n"

// newFleet starts one. keys are those of the providers.
func newFleet(t *testing.T, keys string) *fleet {
	t.Helper()
	return newFleetAt(t, keys, func(s *warmSite) string { return newSite(t, s.serve).url })
}

// newFleetAt is newFleet with upstreams that open serves, at the URL that it returns.
func newFleetAt(t *testing.T, keys string, open func(*warmSite) string) *fleet {
	t.Helper()
	sites, config := newSitesAt(keys, open)
	return &fleet{serve(t, "cache_salt: pepper\n"+config), sites}
}

// newSites starts the upstreams, and returns the configuration of a gateway before them.
func newSites(t *testing.T, keys string) (sites map[string]*warmSite, config string) {
	t.Helper()
	return newSitesAt(keys, func(s *warmSite) string { return newSite(t, s.serve).url })
}

func newSitesAt(keys string, open func(*warmSite) string) (sites map[string]*warmSite, config string) {
	sites = map[string]*warmSite{}
	s := &setup{}
	fmt.Fprintf(&s.head, fleetKeys, hashed("alice"), hashed("bob"))
	s.head.WriteString("defaults: {routing: prefix}\n")
	names := []string{"up0", "up1", "up2", "up3"}
	for _, name := range names {
		site := &warmSite{}
		sites[name] = site
		s.provider(name, open(site), keys)
	}
	s.model("m", names...)
	return sites, s.String()
}

// talk is a conversation, which every answer makes longer.
type talk struct {
	client   string // its key
	model    string // "" is m
	stream   bool
	messages []map[string]string
}

// newTalk begins one, with a system prompt of 4 KB that all have in common.
func newTalk(client string, number int) *talk {
	system := strings.Repeat("You are a careful assistant and answer in full sentences. ", 71)[:4096]
	c := &talk{client: client, stream: number%2 == 1}
	c.say("system", system)
	return c
}

func (c *talk) say(role, text string) {
	c.messages = append(c.messages, map[string]string{"role": role, "content": text})
}

// turn asks once more. topic makes the question unlike all others.
func (f *fleet) turn(c *talk, topic string) result {
	f.t.Helper()
	c.say("user", strings.Repeat(topic+". ", 1200/(len(topic)+2)))
	b, _ := json.Marshal(map[string]any{ // its types cannot fail
		"model": cmp.Or(c.model, "m"), "messages": c.messages, "stream": c.stream, "stream_options": map[string]bool{"include_usage": c.stream},
	})
	r := f.chat(string(b), "authorization", "Bearer "+c.client)
	clean(f.t, r)
	if r.status != http.StatusOK || !strings.Contains(r.body, "cached_tokens") {
		f.t.Errorf("%s: got status %d, %q, want an answer with its usage", topic, r.status, cut(r.body, 0, 400))
	}
	c.say("assistant", healthyText)
	return r
}

func provider(r result) string { return r.header.Get("x-callgate-provider") }

// cacheHeader is what x-callgate-prefix says.
func cacheHeader(t *testing.T, r result) (reason string, expected, blocks int) {
	t.Helper()
	text := r.header.Get("x-callgate-prefix")
	reason, numbers, _ := strings.Cut(text, ";expected=")
	if _, err := fmt.Sscanf(numbers, "%d/%d", &expected, &blocks); err != nil {
		t.Errorf("got x-callgate-prefix %q, want reason;expected=n/m", text)
	}
	return reason, expected, blocks
}

// crowdSize is how many conversations come before the one that shows what they share.
const crowdSize = 2

// crowd makes the system prompt known as one that everybody sends: until different
// questions have followed it, it leads whoever sends it to where it is.
func (f *fleet) crowd(client string) {
	f.t.Helper()
	for i := range crowdSize {
		f.turn(newTalk(client, i), fmt.Sprintf("somebody %d", i))
	}
}

// begin starts conversations, one after the other, and returns where they are.
func (f *fleet) begin(n int, topic string) (talks []*talk, where []string) {
	f.t.Helper()
	for i := range n {
		talks = append(talks, newTalk("alice", i))
		where = append(where, provider(f.turn(talks[i], fmt.Sprintf("%s %d", topic, i))))
	}
	return talks, where
}

// stays asks once more in each conversation, which must get its answer where it was before
// and where the gateway knows its prompt to be cached.
func (f *fleet) stays(talks []*talk, where []string, topic string) {
	f.t.Helper()
	for i, c := range talks {
		r := f.turn(c, fmt.Sprintf("%s %d", topic, i))
		reason, expected, blocks := cacheHeader(f.t, r)
		if provider(r) != where[i] || reason != "cached" || expected < blocks-3 || expected == 0 {
			f.t.Errorf("%s %d: got %s, %s, %d of %d, want %s with all cached but the last question", topic, i, provider(r), reason, expected, blocks, where[i])
		}
	}
}

// caches is what the operator is told of the caches, by provider.
func (f *fleet) caches() map[string]prefix.TargetSnapshot {
	f.t.Helper()
	r := f.adminDo("GET", "/admin/prefix")
	var s prefix.Snapshot
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || r.status != http.StatusOK {
		f.t.Fatalf("got status %d, %q, want the caches", r.status, r.body)
	}
	out := map[string]prefix.TargetSnapshot{}
	for _, target := range s.Targets {
		out[strings.TrimSuffix(target.Target, "/up")] = target
	}
	return out
}

// TestPrefixStays holds that the turns of 20 conversations stay where these began, that
// the upstream there has them cached, and that they are spread though the gateway was just
// started and all have most of their first prompt in common. Half of them are streamed.
func TestPrefixStays(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "")
	talks, where := f.begin(20, "conversation")
	used := map[string]int{}
	for _, name := range where {
		used[name]++
	}
	if most := slices.Max(slices.Collect(maps.Values(used))); len(used) < len(f.sites) || most > 2*len(talks)/len(f.sites) {
		t.Errorf("got the conversations at %v, want none with more than twice its share", used)
	}
	before := f.tokensCached()
	for turn := range 3 {
		f.stays(talks, where, fmt.Sprint("turn ", turn))
	}
	// Each prompt has the system prompt, and a question of 1200 bytes or more, cached.
	if got, want := f.tokensCached()-before, 3*len(talks)*(4096+1200)/4; got < want {
		t.Errorf("the upstreams had %d tokens of the later turns cached, want at least %d", got, want)
	}
}

func (f *fleet) tokensCached() (sum int) {
	for _, s := range f.sites {
		s.mu.Lock()
		sum += s.cached
		s.mu.Unlock()
	}
	return sum
}

// TestPrefixOfClients holds that nobody can find out what another client has sent: the same
// prompt under another key is not expected anywhere.
func TestPrefixOfClients(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "")
	c := newTalk("alice", 0)
	f.turn(c, "a secret")
	messages := slices.Clone(c.messages)
	if _, expected, _ := cacheHeader(t, f.turn(c, "more of it")); expected == 0 {
		t.Error("got nothing expected of the client's own prompt")
	}
	same := &talk{client: "bob", messages: messages}
	if reason, expected, _ := cacheHeader(t, f.turn(same, "more of it")); reason != "hashed" && reason != "spilled" || expected != 0 {
		t.Errorf("got %s with %d blocks expected for another client's key, want hashed or spilled with none", reason, expected)
	}
	if _, expected, _ := cacheHeader(t, f.turn(same, "and more")); expected == 0 {
		t.Error("got nothing expected of the other client's own prompt")
	}
}

// TestPrefixAdmin compares the keys of what the operator is told, and the kinds of their
// values, with testdata/affinity/admin.json. No prompt and no key is among it.
func TestPrefixAdmin(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "")
	talks, where := f.begin(1, "the operator")
	f.stays(talks, where, "looks on")
	f.turn(newTalk("bob", 1), "somebody else")
	choices, hits := uint64(0), uint64(0)
	for _, c := range f.caches() {
		choices, hits = choices+c.Choices, hits+c.Hits
	}
	if choices != 3 || hits != 1 {
		t.Errorf("got %d choices and %d hits, want 3 and 1", choices, hits)
	}
	r := f.adminDo("GET", "/admin/prefix")
	clean(t, r)
	var body any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || strings.Contains(r.body, "careful") || strings.Contains(r.body, "looks on") {
		t.Fatalf("got %s (%v), want JSON without a prompt", r.body, err)
	}
	const file = "testdata/affinity/admin.json"
	got, err := json.MarshalIndent(kinds(body), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// kinds puts the kind of each value in its place. Of a list it keeps the first.
func kinds(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = kinds(v[key])
		}
		return v
	case []any:
		if len(v) > 0 {
			return []any{kinds(v[0])}
		}
		return v
	case float64:
		return "number"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// TestPrefixReported holds that the gateway compares what it expected with what upstreams
// say was cached, in whole answers and in streams: one has lost its cache, and nothing but
// its count of tokens tells.
func TestPrefixReported(t *testing.T) {
	t.Parallel()
	for number, manner := range []string{"whole", "streamed"} {
		t.Run(manner, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "")
			c := newTalk("alice", number)
			name := provider(f.turn(c, "first"))
			turn := func(topic string) (expected, reported uint64) {
				before := f.caches()[name]
				if r := f.turn(c, topic); provider(r) != name {
					t.Errorf("%s: got %s, want %s", topic, provider(r), name)
				}
				after := f.caches()[name]
				return after.Expected - before.Expected, after.Reported - before.Reported
			}
			if expected, reported := turn("second"); expected == 0 || reported+1 < expected || reported > expected+1 {
				t.Errorf("got %d blocks reported where %d were expected, want as many but for one", reported, expected)
			}
			f.sites[name].fails(false)
			if expected, reported := turn("third"); expected == 0 || reported != 0 {
				t.Errorf("got %d blocks reported and %d expected of an upstream that has lost its cache, want none and some", reported, expected)
			}
			if expected, reported := turn("fourth"); expected == 0 || reported+1 < expected {
				t.Errorf("got %d blocks reported where %d were expected, want nearly as many: it has them again", reported, expected)
			}
		})
	}
}

// TestPrefixWithoutCache holds that upstreams which count what they cache, and never have
// anything, are found out: nothing is expected of them, and the operator sees it.
func TestPrefixWithoutCache(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "")
	for _, site := range f.sites {
		site.cold = true
	}
	c := newTalk("alice", 0)
	f.turn(c, "first")
	for i := range 20 {
		f.turn(c, fmt.Sprint("turn ", i))
	}
	if _, expected, _ := cacheHeader(t, f.turn(c, "last")); expected != 0 {
		t.Errorf("got %d blocks expected, want none", expected)
	}
	found := 0
	for name, target := range f.caches() {
		if !target.Caches {
			found++
		} else if target.Expected > 0 && target.Reported > 0 {
			t.Errorf("got %+v of %s, which never reports anything", target, name)
		}
	}
	if found < 2 { // the hash need not lead the conversation to all of them
		t.Errorf("%d upstreams are known to have no cache, want those that were asked", found)
	}
}

// TestPrefixHammer asks from many conversations at once while an upstream dies and comes
// back, for the race detector. Every turn gets its answer.
func TestPrefixHammer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, easilyOpened)
	f.crowd("alice")
	const talks, turns = 12, 8
	var all sync.WaitGroup
	for i := range talks {
		all.Go(func() {
			c := newTalk([]string{"alice", "bob"}[i/2%2], i)
			last := ""
			for n := range turns {
				if i == 0 && n == 2 {
					f.sites[last].fails(true)
				}
				r := f.turn(c, fmt.Sprintf("conversation %d turn %d", i, n))
				if i == 0 && n == 5 {
					for name, site := range f.sites {
						site.fails(false)
						f.adminDo("POST", "/admin/breakers/"+name+"/reset")
					}
				}
				last = provider(r)
			}
		})
	}
	all.Wait()
	choices := uint64(0)
	for _, target := range f.caches() {
		choices += target.Choices
	}
	if want := uint64(crowdSize + talks*turns); choices != want {
		t.Errorf("%d choices are counted, want %d, one for each request", choices, want)
	}
}
