package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/prefix/share"
	"github.com/callgate/callgate/internal/redistest"
)

// shire is some gateways that are before the same upstreams and share a Redis.
type shire struct {
	t      *testing.T
	redis  *redistest.Server
	sites  map[string]*warmSite
	config string
}

// newShire starts the upstreams and a Redis, with the keys of the providers and the
// options of the Redis.
func newShire(t *testing.T, keys string, redis ...string) *shire {
	t.Helper()
	server := redistest.Start(t, redis...)
	sites, config := newSites(t, keys)
	return &shire{t, server, sites, strings.Replace(config, "level: error", "level: info", 1)}
}

// gateway starts one, with a salt and the URL of the Redis.
func (s *shire) gateway(salt, url, interval string) *fleet {
	s.t.Helper()
	head := fmt.Sprintf("cache_salt: %s\nredis: {url: %q, key_prefix: %s, interval: %s}\n", salt, url, s.redis.KeyPrefix(), interval)
	return &fleet{serve(s.t, head+s.config), s.sites}
}

const often = "200ms"

func (s *shire) join() *fleet {
	s.t.Helper()
	return s.gateway("pepper", s.redis.URL(), often)
}

// sharing is what the operator is told of it.
func (f *fleet) sharing() share.Snapshot {
	f.t.Helper()
	r := f.adminDo("GET", "/admin/prefix")
	var s struct{ Sharing *share.Snapshot }
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || s.Sharing == nil {
		f.t.Fatalf("got %q, want how the sharing goes (%v)", r.body, err)
	}
	clean(f.t, r)
	return *s.Sharing
}

func (f *fleet) awaitSharing(what string, ok func(share.Snapshot) bool) {
	f.t.Helper()
	await(f.t, "sharing: "+what, func() bool { return ok(f.sharing()) })
}

func up(s share.Snapshot) bool   { return s.Up }
func away(s share.Snapshot) bool { return !s.Up && s.Error != "" }

// metric is the value of a series.
func (f *fleet) metric(series string) string {
	f.t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(f.adminDo("GET", "/metrics").body)
	if m == nil {
		f.t.Errorf("got no %s", series)
		return ""
	}
	return m[1]
}

// exchanges waits until a gateway has written all that it knows by now, and has read all
// that is written by now: the second exchange from now on began after now.
func (f *fleet) exchanges() {
	f.t.Helper()
	last := time.Now()
	for range 2 {
		f.awaitSharing("exchange", func(s share.Snapshot) bool {
			if !s.LastPull.After(last) {
				return false
			}
			last = s.LastPull
			return true
		})
	}
}

// tells waits until others know what a gateway knows by now.
func (f *fleet) tells(others ...*fleet) {
	f.t.Helper()
	f.exchanges()
	for _, other := range others {
		other.exchanges()
	}
}

// TestShareConversation begins conversations at one gateway and goes on at another, which
// knows where they are; so does a third one that is started later. What they say at the
// end of their lives the next one hears.
func TestShareConversation(t *testing.T) {
	t.Parallel()
	s := newShire(t, "")
	a, b := s.join(), s.join()
	a.awaitSharing("up", up)
	b.awaitSharing("up", up)
	a.crowd("alice")
	talks, where := a.begin(8, "conversation")
	a.tells(b)
	b.stays(talks, where, "at the other")
	b.exchanges()
	c := s.join()
	c.awaitSharing("up", up)
	c.stays(talks, where, "at the third")
	c.cancel()
	if status := c.wait(); status != 0 {
		t.Errorf("got exit status %d, want 0", status)
	}
	a.exchanges()
	a.stays(talks, where, "at the first again")
	if got := a.metric("callgate_share_up"); got != "1" {
		t.Errorf("got callgate_share_up %s, want 1", got)
	}
	if got := b.metric(`callgate_share_batches_total{direction="pull",outcome="ok"}`); got == "0" {
		t.Error("got no batch counted, want some")
	}
}

// TestShareDrop: a breaker that opens at one gateway lets the others forget what the
// upstream had.
func TestShareDrop(t *testing.T) {
	t.Parallel()
	s := newShire(t, easilyOpened)
	a, b := s.join(), s.join()
	talks, where := a.begin(1, "conversation")
	a.tells(b)
	dies := where[0]
	if reason, expected, _ := cacheHeader(t, b.turn(talks[0], "before")); reason != "cached" || expected == 0 {
		t.Errorf("got %s with %d blocks expected before, want them known", reason, expected)
	}
	time.Sleep(500 * time.Millisecond) // an index counts time in steps of 100 ms, and what is as new as a drop stays
	s.sites[dies].fails(true)
	for a.breaker(dies).State != breaker.Open { // the conversations stay out of it
		a.chat(fmt.Sprintf(`{"model": "%s/up", "messages": [{"role": "user", "content": "hi"}]}`, dies), "authorization", "Bearer alice")
	}
	a.tells(b)
	s.sites[dies].fails(false)
	r := b.turn(talks[0], "after")
	if _, expected, _ := cacheHeader(t, r); provider(r) == dies && expected > 0 {
		t.Errorf("got %d blocks expected at %s, which has lost them", expected, dies)
	}
}

// TestShareOutage kills the Redis and stops it as SIGSTOP does: every request is answered,
// the log says it once, and what was learned meanwhile the others know when it is back.
func TestShareOutage(t *testing.T) {
	t.Parallel()
	s := newShire(t, "")
	a, b := s.join(), s.join()
	a.awaitSharing("up", up)
	a.crowd("alice")
	for i, outage := range []struct {
		name       string
		begin, end func()
	}{{"killed", s.redis.Stop, s.redis.Restart}, {"paused", s.redis.Pause, s.redis.Resume}} {
		outage.begin()
		var talks []*talk
		var where []string
		for n := range 6 {
			c, w := a.begin(1, fmt.Sprintf("%s %d", outage.name, n))
			talks, where = append(talks, c[0]), append(where, w[0])
			a.stays(c, w, "and on")
		}
		a.awaitSharing("away", away)
		if got := a.metric("callgate_share_up"); got != "0" {
			t.Errorf("%s: got callgate_share_up %s, want 0", outage.name, got)
		}
		outage.end()
		a.awaitSharing("up", up)
		b.awaitSharing("up", up)
		a.tells(b)
		b.stays(talks, where, "at the other")
		a.awaitSharing("no error", func(s share.Snapshot) bool { return s.Error == "" })
		if got := strings.Count(a.stderr.String(), "prefixes are not shared"); got != i+1 {
			t.Errorf("%s: got %d lines of the log that say so, want %d", outage.name, got, i+1)
		}
	}
}

// TestShareUnasked: requests ask nothing of the Redis, so that none waits for it.
func TestShareUnasked(t *testing.T) {
	t.Parallel()
	s := newShire(t, "")
	a := s.gateway("pepper", s.redis.URL(), "1m")
	a.awaitSharing("up", up)
	o, err := goredis.ParseURL(s.redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	other := goredis.NewClient(o)
	defer other.Close()
	calls := func() string { // how often each command was called, but for those of this function
		info, err := other.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, m := range regexp.MustCompile(`cmdstat_(\S+):calls=(\d+)`).FindAllStringSubmatch(info, -1) {
			if m[1] != "info" {
				all = append(all, m[1]+" "+m[2])
			}
		}
		return strings.Join(all, ", ")
	}
	var before, after string
	for n := range 10 { // with an exchange in between it is done again: one may have begun, and be in no snapshot
		last := a.sharing().LastPull
		before = calls()
		c, w := a.begin(2, fmt.Sprintf("conversation %d", n))
		a.stays(c, w, "and on")
		if after = calls(); after == before && a.sharing().LastPull.Equal(last) {
			return
		}
	}
	t.Errorf("got the commands %q, want none but the %q from before", after, before)
}

// TestShareRefused: a gateway with a wrong password works, keeps to itself, and says so
// without the password.
func TestShareRefused(t *testing.T) {
	t.Parallel()
	s := newShire(t, "", "--requirepass", canary)
	url := func(password string) string {
		return strings.Replace(s.redis.URL(), "redis://", "redis://:"+password+"@", 1)
	}
	good, bad := s.gateway("pepper", url(canary), often), s.gateway("pepper", url(canary+"-mistaken"), often)
	good.awaitSharing("up", up)
	bad.awaitSharing("away", away)
	if got := bad.sharing().Error; !strings.Contains(got, "WRONGPASS") {
		t.Errorf("got the error %q, want that the password is wrong", got)
	}
	talks, where := bad.begin(2, "conversation")
	bad.stays(talks, where, "and on")
	for _, f := range []*fleet{good, bad} {
		if strings.Contains(f.stderr.String(), canary) {
			t.Errorf("got the password in the log:\n%s", f.stderr)
		}
	}
}

// TestShareStrangers: a gateway with another salt is not heard, nor what other programs
// write, and their entries hold up nobody.
func TestShareStrangers(t *testing.T) {
	t.Parallel()
	s := newShire(t, "")
	a, b, stranger := s.join(), s.join(), s.gateway("salt", s.redis.URL(), often)
	stranger.awaitSharing("up", up)
	stranger.begin(2, "conversation")
	stranger.awaitSharing("written", func(s share.Snapshot) bool { return s.Pushed.OK > 0 })
	o, err := goredis.ParseURL(s.redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	other := goredis.NewClient(o)
	defer other.Close()
	key := s.redis.KeyPrefix() + ":prefix:" + share.Fingerprint([]byte("pepper"))
	for _, values := range [][]string{{"d", "garbage"}, {"x", "1"}, {"d", "cgp\x09" + strings.Repeat("x", 100)}} {
		if err := other.XAdd(t.Context(), &goredis.XAddArgs{Stream: key, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	talks, where := a.begin(2, "conversation")
	a.tells(b)
	b.stays(talks, where, "at the other")
	b.tells(a)
	b.awaitSharing("strangers counted", func(s share.Snapshot) bool { return s.Pulled.Foreign == 2 && s.Pulled.Version == 1 })
	if got := stranger.sharing().Pulled; got != (share.Pulled{}) {
		t.Errorf("got %+v at the gateway with another salt, want nothing", got)
	}
	if err := other.Set(t.Context(), key, "not a stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	a.awaitSharing("away", away)
	a.stays(talks, where, "meanwhile")
	other.Del(t.Context(), key)
	a.awaitSharing("up", up)
	b.awaitSharing("up", up)
	talks, where = b.begin(2, "afterwards")
	b.tells(a)
	a.stays(talks, where, "at the first")
}

// TestShareHammer asks two gateways at once while the Redis comes and goes, for the race
// detector. Every turn gets its answer.
func TestShareHammer(t *testing.T) {
	t.Parallel()
	s := newShire(t, "")
	gates := []*fleet{s.join(), s.join()}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			c := newTalk("alice", i)
			for n := range 8 {
				gates[(i+n)%2].turn(c, fmt.Sprintf("conversation %d turn %d", i, n))
			}
		})
	}
	for range 3 {
		s.redis.Stop()
		s.redis.Restart()
	}
	all.Wait()
	for _, f := range gates {
		f.awaitSharing("up", up)
	}
}

// TestShareMistake: what go-redis does not take of a URL is said in one line, without it.
func TestShareMistake(t *testing.T) {
	t.Parallel()
	file := configFile(t, "cache_salt: pepper\nredis: {url: \"redis://:"+canary+"@127.0.0.1/0?pool=3\"}\n")
	status, _, stderr := command(t, "", "check", file)
	if status != exitUsage || !strings.HasPrefix(stderr, "callgate: redis.url: ") || strings.Contains(stderr, canary) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("got status %d and %q, want %d and a line about redis.url", status, stderr, exitUsage)
	}
}

// TestSimulateRedis replays a trace with gateways that talk over a Redis: it finds what
// it does with those that talk in memory.
func TestSimulateRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	trace := excerpt(t, "synthetic", 400)
	flags := []string{"simulate", "--trace", trace, "--policy", "ours", "--gateways", "4", "--sync", "1s"}
	status, want, stderr := command(t, "", flags...)
	if status != exitOK {
		t.Fatalf("got status %d: %s", status, stderr)
	}
	flags = append(flags, "--redis", s.URL())
	status, got, stderr := command(t, "", flags...)
	got, told, _ := strings.Cut(strings.Replace(got, " over Redis", "", 1), "\nwritten by 4 gateways: ")
	if status != exitOK || got != want {
		t.Errorf("got status %d, %s and\n%s\nwant\n%s", status, stderr, got, want)
	}
	var written, read, bytes, times int
	if n, err := fmt.Sscanf(strings.ReplaceAll(told, "\n", " "), "%d batches, %d bytes; a second", &written, &bytes); n != 2 || err != nil || bytes < 44*written {
		t.Errorf("got %q of what was written, %v", told, err)
	}
	_, told, _ = strings.Cut(told, "read by them: ")
	if n, err := fmt.Sscanf(told, "%d batches, %d bytes;", &read, &times); n != 2 || err != nil || read != 4*written || times != 4*bytes {
		t.Errorf("got %q of what was read, %v; want four times %d batches, %d bytes", told, err, written, bytes)
	}
	s.Stop()
	if status, stdout, stderr := command(t, "", flags...); status != exitFailed || stdout != "" || !strings.Contains(stderr, "connection refused") {
		t.Errorf("got status %d, %q and %q without a Redis, want %d and why", status, stdout, stderr, exitFailed)
	}
}
