package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a client of a server, with the test's keys.
func open(t *testing.T, s *redistest.Server, url string) *redis.Client {
	t.Helper()
	c, err := redis.Open(redis.Options{URL: url, KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// raw is a client for what another program may do.
func raw(t *testing.T, s *redistest.Server) *goredis.Client {
	t.Helper()
	o, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := goredis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestOpenMistakes holds that what is wrong with a URL is said without the URL.
func TestOpenMistakes(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://:secret@x", "redis://:secret@x/secret", "redis://:sec ret@x", "redis://x?secret=1"} {
		_, err := redis.Open(redis.Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: got error %v, want one without the password", url, err)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	key := c.Key("a", "b")
	if want := s.KeyPrefix() + ":a:b"; key != want {
		t.Errorf("got the key %s, want %s", key, want)
	}
	if _, found, err := c.GetUpTo(t.Context(), key, 1<<20); found || err != nil {
		t.Errorf("got a value: %v, error %v, want none", found, err)
	}
	want := []byte("a\x00\xff\r\n")
	if err := c.Set(t.Context(), key, want, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got, found, err := c.GetUpTo(t.Context(), key, 1<<20); !bytes.Equal(got, want) || !found || err != nil {
		t.Errorf("got %q, %v, error %v, want %q", got, found, err, want)
	}
	if ttl := raw(t, s).PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("got the value kept for %v, want a minute", ttl)
	}
}

// TestPassword holds that the right one opens, and that a wrong one is in no error and in
// no line of the library.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "correct")
	url := func(password string) string { return strings.Replace(s.URL(), "redis://", "redis://:"+password+"@", 1) }
	if err := open(t, s, url("correct")).Set(t.Context(), "k", nil, time.Minute); err != nil {
		t.Error(err)
	}
	err := open(t, s, url("mistaken")).Set(t.Context(), "k", nil, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "mistaken") {
		t.Errorf("got error %v, want that the password is wrong, and not which", err)
	}
	if err := open(t, s, url("W")).Set(t.Context(), "k", nil, time.Minute); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("got error %v, want its words whole: a letter is no secret", err)
	}
	if err := open(t, s, s.URL()).Set(t.Context(), "k", nil, time.Minute); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("got error %v, want that a password is needed", err)
	}
}

// TestAway holds that nobody waits longer than its context for a server that is gone or
// does not answer, and that all is well when it is back.
func TestAway(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	ask := func() error { // of a server that is paused it would have to wait until the test resumes it
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, _, err := c.GetUpTo(ctx, "k", 1<<20)
		return err
	}
	back := func() {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			if err := ask(); err == nil {
				return
			} else if time.Now().After(end) {
				t.Fatalf("got error %v from a server that is back", err)
			}
		}
	}
	back()
	for _, outage := range []struct {
		name       string
		begin, end func()
	}{{"killed", s.Stop, s.Restart}, {"paused", s.Pause, s.Resume}} {
		outage.begin()
		for range 3 {
			if err := ask(); err == nil {
				t.Errorf("%s: got no error, want one after 100 ms", outage.name)
			}
		}
		outage.end()
		back()
	}
}

func texts(entries []redis.Entry) (out []string) {
	for _, e := range entries {
		if e.Data == nil {
			out = append(out, "foreign")
			continue
		}
		out = append(out, string(e.Data))
	}
	return out
}

func next(t *testing.T, s *redis.Stream) ([]redis.Entry, bool) {
	t.Helper()
	entries, more, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return entries, more
}

// TestStream has two writers and two readers, of which one comes late.
func TestStream(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	o := redis.StreamOptions{Keep: time.Minute, Length: 1000}
	key := s.KeyPrefix() + ":stream"
	a, b := open(t, s, s.URL()).Stream(key, o), open(t, s, s.URL()).Stream(key, o)
	late := open(t, s, s.URL()).Stream(key, o)
	if entries, more := next(t, a); len(entries) != 0 || more {
		t.Errorf("got %v, more: %v, of a stream that does not exist", texts(entries), more)
	}
	write := func(s *redis.Stream, entries ...string) {
		t.Helper()
		var data [][]byte
		for _, text := range entries {
			data = append(data, []byte(text))
		}
		if err := s.Append(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string, s *redis.Stream, want string) {
		t.Helper()
		entries, _ := next(t, s)
		if got := fmt.Sprint(texts(entries)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	write(a, "1", "\x00\xff2")
	write(b, "3")
	write(b)
	read("a", a, "[1 \x00\xff2 3]")
	read("a", a, "[]")
	read("b", b, "[1 \x00\xff2 3]")
	write(b, "4")
	read("a", a, "[4]")
	time.Sleep(50 * time.Millisecond)
	entries, _ := next(t, late)
	if got := fmt.Sprint(texts(entries)); got != "[1 \x00\xff2 3 4]" {
		t.Errorf("late: got %s, want all", got)
	}
	if age := entries[3].Age; age < 50*time.Millisecond || age > time.Hour {
		t.Errorf("got an entry that is %v old, want 50 ms or a little more", age)
	}
}

// TestStreamBounds holds that a reader begins no further back than is kept, gets pages,
// and that a stream has an end.
func TestStreamBounds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, other := open(t, s, s.URL()), raw(t, s)
	key := c.Key("stream")
	stream := c.Stream(key, redis.StreamOptions{Keep: 10 * time.Second, Length: 100})
	var old goredis.XAddArgs
	old.Stream, old.ID, old.Values = key, fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli()), []string{"d", "old"}
	if err := other.XAdd(t.Context(), &old).Err(); err != nil {
		t.Fatal(err)
	}
	data := make([][]byte, 1000)
	for i := range data {
		data[i] = fmt.Appendf(nil, "%d", i)
	}
	if err := stream.Append(t.Context(), data[:70]); err != nil {
		t.Fatal(err)
	}
	first, more := next(t, stream)
	second, end := next(t, stream)
	if len(first) != 64 || !more || len(second) != 6 || end || string(first[0].Data) != "0" {
		t.Errorf("got pages of %d and %d, more: %v and %v, from %q, want 64 and 6, from 0", len(first), len(second), more, end, first[0].Data)
	}
	if err := stream.Append(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if n := other.XLen(t.Context(), key).Val(); n < 100 || n > 300 {
		t.Errorf("got %d entries kept, want 100 and some more", n)
	}
	if ttl := other.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 10*time.Second {
		t.Errorf("got the stream kept for %v, want 10 s", ttl)
	}
}

// TestStreamOfLarge holds that behind a page of large entries they are read one by one, and
// small ones by pages again, and that none is missed.
func TestStreamOfLarge(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	stream := c.Stream(c.Key("stream"), redis.StreamOptions{Keep: time.Minute, Length: 1000})
	var data [][]byte
	for i := range 64 + 3 + 20 {
		entry := []byte("small")
		if i < 64+3 && i%10 == 0 || i >= 64 && i < 64+3 {
			entry = make([]byte, 1<<20)
		}
		data = append(data, entry)
	}
	if err := stream.Append(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for more := true; more; {
		var page []redis.Entry
		page, more = next(t, stream)
		sizes = append(sizes, len(page))
	}
	if got, want := fmt.Sprint(sizes), "[64 1 1 1 1 2 4 8 5]"; got != want {
		t.Errorf("got pages of %s entries, want %s", got, want)
	}
}

// TestStreamOfOthers reads what other programs have written, at times of their own, and
// goes on after that was removed.
func TestStreamOfOthers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c, other := open(t, s, s.URL()), raw(t, s)
	key := c.Key("stream")
	stream := c.Stream(key, redis.StreamOptions{Keep: time.Minute, Length: 100})
	for _, values := range [][]string{{"x", "1"}, {"d", "1", "e", "2"}, {"d", "1", "d", "2"}} {
		if err := other.XAdd(t.Context(), &goredis.XAddArgs{Stream: key, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	future := &goredis.XAddArgs{Stream: key, ID: "18446744073709551000-1", Values: []string{"d", "future"}}
	if err := other.XAdd(t.Context(), future).Err(); err != nil {
		t.Fatal(err)
	}
	if err := stream.Append(t.Context(), [][]byte{[]byte("ours")}); err != nil {
		t.Fatal(err)
	}
	entries, _ := next(t, stream)
	if got := fmt.Sprint(texts(entries)); !strings.HasPrefix(got, "[foreign foreign ") || !strings.HasSuffix(got, " future ours]") {
		t.Errorf("got %s, want two that are foreign, and in the end ours", got)
	}
	for _, e := range entries {
		if e.Age < 0 || e.Age > time.Minute {
			t.Errorf("got an entry that is %v old, want an age", e.Age)
		}
	}
	if again, _ := next(t, stream); len(again) != 0 {
		t.Errorf("got %v once more", texts(again))
	}
	other.Del(t.Context(), key)
	if gone, _ := next(t, stream); len(gone) != 0 {
		t.Errorf("got %v of a stream that was deleted", texts(gone))
	}
	if err := stream.Append(t.Context(), [][]byte{[]byte("anew")}); err != nil {
		t.Fatal(err)
	}
	if entries, _ := next(t, stream); fmt.Sprint(texts(entries)) != "[anew]" {
		t.Errorf("got %v, want what was written after the deletion", texts(entries))
	}
}

// TestLibrary holds that the library's lines go where they are led, without the password.
// It changes the whole process, so it runs alone.
func TestLibrary(t *testing.T) {
	var b bytes.Buffer
	redis.LogTo(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer redis.LogTo(slog.New(slog.DiscardHandler))
	c, err := redis.Open(redis.Options{URL: "redis://:secret@127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.GetUpTo(t.Context(), "k", 1<<20); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want one without the password", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := b.String(); !strings.Contains(got, "redis library") || strings.Contains(got, "secret") {
		t.Errorf("got %q, want the library's line, without the password", got)
	}
}

// TestScript holds that a script which the server does not know, also after a restart, is sent, and what it may return.
func TestScript(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	script := redis.NewScript("redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[1]), ARGV[2], 9007199254740991}")
	for range 2 {
		got, err := c.Run(t.Context(), script, redis.Keys{c.Key("k")}, []any{"a", int64(1)<<52 + 1})
		if err != nil || fmt.Sprint(got) != "[a 4503599627370497 9007199254740991]" {
			t.Errorf("got %v, error %v, want what it was given", got, err)
		}
		if err := raw(t, s).ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"return 1", "return {{1}}", "return nosuch", "return nil"} {
		if got, err := c.Run(t.Context(), redis.NewScript(source), nil, nil); err == nil {
			t.Errorf("%s: got %v and no error", source, got)
		}
	}
}
