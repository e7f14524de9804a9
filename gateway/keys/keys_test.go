package keys_test

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/keys/keystest"
	"github.com/callgate/callgate/internal/digest"
)

var home = netip.MustParseAddr("127.0.0.1")

// desk is a book with its manager, and a clock.
type desk struct {
	*keys.Book
	*keys.Manager
	now *time.Time
}

func newDesk(t *testing.T, k keys.Keeper) desk {
	t.Helper()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	b := keys.NewBook(keys.Options{Keeper: k, Now: func() time.Time { return now }})
	b.Configure(nil, nil, true)
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return desk{b, keys.NewManager(b), &now}
}

func (d desk) create(t *testing.T, k keys.Key) string {
	t.Helper()
	text, _, err := d.Create(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// at is where a request comes from.
func at(a netip.Addr) func() netip.Addr { return func() netip.Addr { return a } }

// why is the reason for which a text is not taken, "" if it is.
func (d desk) why(text string) string {
	_, _, no := d.Find(text, at(home))
	if no == nil {
		return ""
	}
	return string(no.Reason)
}

// fails wants an error of a kind with a sentence.
func fails(t *testing.T, err error, kind keys.ErrorKind, says string) {
	t.Helper()
	var e *keys.Error
	if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Message, says) {
		t.Errorf("got error %v, want the kind %d and %q", err, kind, says)
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		text, s := keys.NewSecret()
		if !regexp.MustCompile(`^cg-[a-z2-7]{12}-[A-Za-z0-9_-]{43}$`).MatchString(text) || !strings.HasPrefix(text, s.Public+"-") || s.Hash != digest.Of([]byte(text)) || seen[text] {
			t.Errorf("got %q, %+v", text, s)
		}
		seen[text] = true
	}
}

// TestLife makes a key, rotates it, blocks it, and has it expire.
func TestLife(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keystest.NewMemory())
	ctx, expires := t.Context(), d.now.Add(48*time.Hour)
	first := d.create(t, keys.Key{Name: "app", Expires: expires})
	second, _, err := d.Rotate(ctx, "app", time.Hour)
	if err != nil || d.why(first) != "" || d.why(second) != "" || first == second {
		t.Errorf("got %q and %q behind a rotation, error %v, want both taken", d.why(first), d.why(second), err)
	}
	*d.now = d.now.Add(time.Hour)
	if _, _, no := d.Find(first, at(home)); no == nil || no.Reason != keys.Expired || !strings.Contains(no.Message, "was replaced by a new one") {
		t.Errorf("got %+v for the first behind the overlap", no)
	}
	third, _, err := d.Rotate(ctx, "app", 0)
	if err != nil || d.why(second) != "unknown" || d.why(third) != "" {
		t.Errorf("got %q and %q behind a rotation without overlap, error %v", d.why(second), d.why(third), err)
	}
	if _, err := d.Block(ctx, "app", true); err != nil || d.why(third) != "blocked" {
		t.Errorf("got %q of a blocked key, error %v", d.why(third), err)
	}
	if _, err := d.Block(ctx, "app", false); err != nil || d.why(third) != "" {
		t.Errorf("got %q of a key that was freed, error %v", d.why(third), err)
	}
	*d.now = expires
	if _, _, no := d.Find(third, at(home)); no == nil || no.Message != `The key "app" expired on 2026-11-25T12:00:00Z.` {
		t.Errorf("got %+v of an expired key", no)
	}
	if err := d.Delete(ctx, "app"); err != nil || d.why(third) != "unknown" || d.Size() != 0 {
		t.Errorf("got %q of a deleted key, error %v", d.why(third), err)
	}
}

func TestTooManyRotations(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keystest.NewMemory())
	d.create(t, keys.Key{Name: "app"})
	var err error
	for n := 1; err == nil; n++ {
		if n > 5 {
			t.Fatal("got more than five valid texts of a key")
		}
		_, _, err = d.Rotate(t.Context(), "app", time.Hour)
	}
	fails(t, err, keys.Taken, "5 texts that are still valid")
	*d.now = d.now.Add(2 * time.Hour)
	if _, e, err := d.Rotate(t.Context(), "app", time.Hour); err != nil || len(e.Secrets) != 2 {
		t.Errorf("got %+v, error %v, want the expired ones gone", e, err)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	d, ctx := newDesk(t, keystest.NewMemory()), t.Context()
	d.create(t, keys.Key{Name: "app"})
	long := strings.Repeat("x", 65)
	for says, k := range map[string]keys.Key{
		"is not a name: one has 1 to 64": {Name: long}, "is not a name: one has 1": {}, "a name": {Name: "a\nb"}, `There is a key "app" already`: {Name: "app"},
		`There is no team "x"`: {Name: "n", Team: "x"}, "max_tokens is wrong": {Name: "n", Scope: keys.Scope{MaxTokens: -1}}, "may be from 1 to 10000000": {Name: "n", Scope: keys.Scope{MaxTokens: 1 << 40}},
		"cidr[1] is wrong": {Name: "n", CIDR: []string{"10.0.0.0/8", "10.0.0.0/99"}}, "arms[0] is wrong": {Name: "n", Arms: []string{"a"}}, "is in the list twice": {Name: "n", Scope: keys.Scope{Models: []string{"a", "a"}}},
		"labels.a b is wrong": {Name: "n", Scope: keys.Scope{Labels: map[string]string{"a b": ""}}}, "is over": {Name: "n", Expires: d.now.Add(-time.Second)},
	} {
		_, _, err := d.Create(ctx, k)
		kind := keys.Invalid
		if k.Name == "app" {
			kind = keys.Taken
		}
		fails(t, err, kind, says)
	}
	_, _, err := d.Rotate(ctx, "app", -time.Second)
	fails(t, err, keys.Invalid, "overlap")
	_, _, err = d.Rotate(ctx, "none", 0)
	fails(t, err, keys.NotFound, `no key "none"`)
	_, err = d.Block(ctx, "none", true)
	fails(t, err, keys.NotFound, `no key "none"`)
	fails(t, d.Delete(ctx, "none"), keys.NotFound, `no key "none"`)
	fails(t, d.DeleteTeam(ctx, "none"), keys.NotFound, `no team "none"`)
	_, err = d.EditTeam(ctx, "none", func(*keys.Team) error { return nil })
	fails(t, err, keys.NotFound, `no team "none"`)
	if d.Size() != 1 {
		t.Errorf("got %d keys, want the first alone", d.Size())
	}
}

// TestConfigured has the configuration's keys beside the store's: they win, and are changed there alone.
func TestConfigured(t *testing.T) {
	t.Parallel()
	d, ctx := newDesk(t, keystest.NewMemory()), t.Context()
	made := d.create(t, keys.Key{Name: "app"})
	text, s := keys.NewSecret()
	d.Configure([]keys.Key{{Name: "app", Secrets: []keys.Secret{s}}, {Name: "yaml", Team: "gone", Secrets: []keys.Secret{{Hash: digest.Of([]byte("short"))}}}}, []keys.Team{{Name: "t"}}, false)
	if d.why(made) != "unknown" || d.why(text) != "" || d.why("short") != "team" {
		t.Errorf("got %q, %q and %q, want the configuration's key alone, and none without its team", d.why(made), d.why(text), d.why("short"))
	}
	if all, more := d.List("", 10); more || len(all) != 3 || !all[2].Hidden || all[0].Origin != keys.Configured {
		t.Errorf("got %+v, want both, and the store's hidden", all)
	}
	_, err := d.Block(ctx, "yaml", true)
	fails(t, err, keys.Fixed, "is in the configuration")
	_, err = d.EditTeam(ctx, "t", func(*keys.Team) error { return nil })
	fails(t, err, keys.Fixed, "is in the configuration")
	if err := d.Delete(ctx, "app"); err != nil || d.why(text) != "" {
		t.Errorf("got error %v, %q, want the store's key deleted and the configuration's left", err, d.why(text))
	}
	d.Configure(nil, nil, false)
	_, _, err = d.Create(ctx, keys.Key{Name: "n"})
	fails(t, err, keys.Unkept, "require_keys")
	_, _, err = newDesk(t, nil).Create(ctx, keys.Key{Name: "n"})
	fails(t, err, keys.Unkept, "need a store that lasts")
}

// TestTeams deletes a team: not while it has keys, and a key that was given it meanwhile is refused.
func TestTeams(t *testing.T) {
	t.Parallel()
	k := keystest.NewMemory()
	d, other, ctx := newDesk(t, k), newDesk(t, k), t.Context()
	if _, err := d.CreateTeam(ctx, keys.Team{Name: "t", Scope: keys.Scope{MaxTokens: 7}}); err != nil {
		t.Fatal(err)
	}
	_, err := d.CreateTeam(ctx, keys.Team{Name: "t"})
	fails(t, err, keys.Taken, "already")
	text := d.create(t, keys.Key{Name: "app", Team: "t"})
	fails(t, other.DeleteTeam(ctx, "t"), keys.Taken, "still has keys (1)")
	if _, team, no := d.Find(text, at(home)); no != nil || team.MaxTokens != 7 {
		t.Errorf("got %+v, %+v, want the team", team, no)
	}
	if _, err := d.Edit(ctx, "app", func(k *keys.Key) error { k.Team = ""; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := other.DeleteTeam(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	_, err = d.Edit(ctx, "app", func(k *keys.Key) error { k.Team = "t"; return nil })
	fails(t, err, keys.Invalid, `no team "t"`)
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	d := newDesk(t, keystest.NewMemory())
	text, none := d.create(t, keys.Key{Name: "a", CIDR: []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"}}), d.create(t, keys.Key{Name: "b", CIDR: []string{}})
	for from, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "11.0.0.1": false, "2001:db8::1%eth0": true, "2001:db9::1": false, "192.0.2.7": true, "192.0.2.8": false} {
		_, _, no := d.Find(text, at(netip.MustParseAddr(from)))
		if (no == nil) != want || no != nil && !strings.Contains(no.Message, "may not be used from the address") {
			t.Errorf("%s: got %+v", from, no)
		}
	}
	if _, _, no := d.Find(text, at(netip.Addr{})); no == nil || d.why(none) != "address" {
		t.Errorf("got %+v from no address, and %q with no network, want both refused", no, d.why(none))
	}
}

// TestOtherGateway holds that a key that is made or blocked at one gateway is so at the other with its
// next poll, and that the keys stay as they are while the store is away.
func TestOtherGateway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keystest.NewMemory()
		d, other := newDesk(t, k), newDesk(t, k)
		go other.Run(t.Context())
		text := d.create(t, keys.Key{Name: "app"})
		time.Sleep(keys.PollTime)
		synctest.Wait()
		if why := other.why(text); why != "" {
			t.Errorf("got %q at the other gateway after a poll", why)
		}
		k.Fail(errors.New("away"))
		time.Sleep(keys.PollTime)
		synctest.Wait()
		if other.State().Failed == nil || other.why(text) != "" {
			t.Errorf("got %+v, %q while the store is away, want the key taken", other.State(), other.why(text))
		}
		k.Fail(nil)
		if _, err := d.Block(t.Context(), "app", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(keys.PollTime)
		synctest.Wait()
		if why := other.why(text); why != "blocked" || keys.PollTime > 5*time.Second || other.State().Failed != nil {
			t.Errorf("got %q at the other gateway after a poll, %+v", why, other.State())
		}
	})
}

// TestManyGateways has many make, rotate and block at once.
func TestManyGateways(t *testing.T) {
	t.Parallel()
	k := keystest.NewMemory()
	var g errgroup.Group
	for i := range 4 {
		d := newDesk(t, k)
		g.Go(func() error {
			for n := range 20 {
				name := fmt.Sprintf("key-%d-%d", i, n)
				if _, _, err := d.Create(t.Context(), keys.Key{Name: name}); err != nil {
					return err
				}
				if _, err := d.Block(t.Context(), name, true); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if d := newDesk(t, k); d.Size() != 80 {
		t.Errorf("got %d keys, want 80", d.Size())
	}
}
