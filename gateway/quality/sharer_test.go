package quality_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/redis"
)

// stream is a Redis that all have in common, and which may be away.
type stream struct {
	entries *[][]byte
	read    int
	away    *bool
}

func (s *stream) Append(_ context.Context, entries [][]byte) error {
	if *s.away {
		return errors.New("redis: away")
	}
	*s.entries = append(*s.entries, entries...)
	return nil
}

func (s *stream) Next(context.Context) (out []redis.Entry, more bool, err error) {
	if *s.away {
		return nil, false, errors.New("redis: away")
	}
	for _, e := range (*s.entries)[s.read:] {
		out = append(out, redis.Entry{Data: e})
	}
	s.read = len(*s.entries)
	return out, false, nil
}

// TestSharer: what one gateway counts others count once, also behind a Redis that was away; who has
// another salt is not believed.
func TestSharer(t *testing.T) {
	t.Parallel()
	c := newClock()
	var entries [][]byte
	away := true
	var books []*quality.Book
	var sharers []*quality.Sharer
	for _, salt := range []string{"salt", "salt", "pepper"} {
		b := bookOf(c, nil)
		books = append(books, b)
		sharers = append(sharers, quality.NewSharer(b, &stream{&entries, 0, &away}, []byte(salt), 0, nil))
	}
	exchange := func() (err error) {
		for _, s := range sharers {
			err = errors.Join(err, s.Exchange(t.Context()))
		}
		return err
	}
	records(books[0], c, arms[0], search, 120, 3, quality.Invalid)
	records(books[1], c, arms[1], search, 60, 0, quality.Clean)
	c.at = c.at.Add(20 * time.Second)
	if err := exchange(); err == nil {
		t.Fatal("no error of a Redis that is away")
	}
	away = false
	for range 3 {
		if err := exchange(); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][]int{{120, 60}, {120, 60}, {}} {
		var got []int
		s := books[i].Snapshot()
		for _, target := range s.Targets {
			got = append(got, target.Turns)
		}
		if !slices.Equal(got, want) {
			t.Errorf("gateway %d has %v turns, want %v", i, got, want)
		}
		if i < 2 && (s.Tools[0].Results["invalid"] != 40 || s.Tools[0].Turns != 180) {
			t.Errorf("gateway %d has %+v of the tool", i, s.Tools[0])
		}
	}
	if s := books[2].Snapshot().Share; s.Foreign == 0 || s.Received != 0 {
		t.Errorf("got %+v of a stream with another salt", s)
	}
	// One that begins later knows what was counted before.
	late := bookOf(c, nil)
	if err := quality.NewSharer(late, &stream{&entries, 0, &away}, []byte("salt"), 0, nil).Exchange(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := late.Snapshot(); len(s.Targets) != 2 || s.Targets[0].Turns != 120 {
		t.Errorf("a later one has %+v", s.Targets)
	}
}

// TestSharedConversations: a conversation that one gateway has sent somewhere stays there when it
// goes on at another.
func TestSharedConversations(t *testing.T) {
	t.Parallel()
	c := newClock()
	var entries [][]byte
	away := false
	var groups []*quality.Group
	var sharers []*quality.Sharer
	for range 2 {
		b := bookOf(c, nil)
		groups = append(groups, groupOf(b))
		sharers = append(sharers, quality.NewSharer(b, &stream{&entries, 0, &away}, []byte("salt"), 0, nil))
	}
	began := map[uint64]int{}
	for key := range uint64(500) {
		choice, _ := groups[0].Choose(quality.Conversation{Key: key}, ready)
		began[key] = choice.Arm
	}
	for _, s := range sharers {
		if err := s.Exchange(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for key, arm := range began {
		if choice, _ := groups[1].Choose(quality.Conversation{Key: key, Running: true}, ready); choice.Arm != arm {
			t.Fatalf("conversation %d goes on at %d, and began at %d", key, choice.Arm, arm)
		}
	}
}

// FuzzSharer holds that no entry of a stream makes a gateway fail.
func FuzzSharer(f *testing.F) {
	f.Add([]byte("0123456789abcdef{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, away := [][]byte{data}, false
		b := bookOf(newClock(), nil)
		if err := quality.NewSharer(b, &stream{&entries, 0, &away}, []byte("salt"), 0, nil).Exchange(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(b.Snapshot().Targets) > 0 {
			t.Error("believed")
		}
	})
}
