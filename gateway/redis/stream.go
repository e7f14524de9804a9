package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// StreamOptions are what a Stream is made of.
type StreamOptions struct {
	// Keep is how long what is written matters. A reader begins so far back, and the stream
	// is gone when nobody has written for so long.
	Keep time.Duration
	// Length is how many entries are kept, and about a hundred more.
	Length int
}

// Stream is a list of entries to which many append and which each reads to its end. It
// has a place of its own to which it has read, so one goroutine at a time may call Next.
//
// Entries are read whole, whoever wrote them, and Redis can only be told how many to send. So
// who may write to the Redis can make a gateway hold a page of large entries once, as far as
// Options.MaxReply lets it; behind it they are read one by one until they are small again. Behind an entry
// that alone is larger than that nothing is read until the stream has lost it.
//
// It uses XADD, XREAD, XREVRANGE, PEXPIRE and TIME, each on one key or none.
type Stream struct {
	client *Client
	key    string
	o      StreamOptions
	read   id  // to here; zero: nothing yet
	page   int // entries of the next Next
}

// Entry is an entry of a stream.
type Entry struct {
	// Age is how long ago it was written, by the server's clock, since those of gateways
	// differ. It is not below 0.
	Age time.Duration
	// Data is what Append was given; nil if another program wrote the entry.
	Data []byte
}

// Stream returns the stream with a key, which [Client.Key] makes. It need not exist.
func (c *Client) Stream(key string, o StreamOptions) *Stream {
	return &Stream{client: c, key: key, o: o, page: pageSize}
}

const (
	dataField = "d"
	pageSize  = 64 // entries of one Next, at most
	// largePage is how many bytes a page may have before the next one has a single entry.
	largePage = 1 << 20
)

// Append adds entries at the end.
func (s *Stream) Append(ctx context.Context, entries [][]byte) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := s.client.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, data := range entries {
			p.XAdd(ctx, &redis.XAddArgs{Stream: s.key, MaxLen: int64(s.o.Length), Approx: true, Values: []any{dataField, data}})
		}
		p.PExpire(ctx, s.key, s.o.Keep)
		return nil
	})
	return s.client.clean(err)
}

// Next returns the entries behind those that it has returned before, at most 64, and
// whether there may be more. The first call begins with what is as old as Keep.
func (s *Stream) Next(ctx context.Context) (entries []Entry, more bool, err error) {
	from := s.read
	if from == (id{}) {
		now, err := s.client.redis.Time(ctx).Result()
		if err != nil {
			return nil, false, s.client.clean(err)
		}
		from = s.start(now)
	}
	var now *redis.TimeCmd
	var found *redis.XStreamSliceCmd
	_, err = s.client.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		found = p.XRead(ctx, &redis.XReadArgs{Streams: []string{s.key, from.String()}, Count: int64(s.page), Block: -1})
		return nil
	})
	if errors.Is(err, errLarge) && s.page > 1 {
		s.page = 1
		return s.Next(ctx)
	}
	if err != nil && !errors.Is(err, redis.Nil) { // Nil: there are none
		return nil, false, s.client.clean(err)
	}
	s.read = from
	bytes, asked := 0, s.page
	for _, stream := range found.Val() {
		for _, m := range stream.Messages {
			at := parseID(m.ID)
			s.read = at
			entries = append(entries, Entry{Age: max(0, now.Val().Sub(at.time())), Data: data(m)})
			bytes += size(m)
		}
	}
	if s.page = min(2*s.page, pageSize); bytes > largePage {
		s.page = 1
	}
	if len(entries) == 0 && s.read.time().After(now.Val()) {
		return nil, false, s.rewind(ctx, now.Val())
	}
	return entries, len(entries) == asked, nil
}

// start is from where a reader begins at a time of the server.
func (s *Stream) start(now time.Time) id {
	return id{ms: uint64(max(1, now.Add(-s.o.Keep).UnixMilli()))}
}

// rewind begins anew if the stream has: it was deleted, or the server came back empty,
// and counts from a time that lies before what was read.
func (s *Stream) rewind(ctx context.Context, now time.Time) error {
	last, err := s.client.redis.XRevRangeN(ctx, s.key, "+", "-", 1).Result()
	if err != nil {
		return s.client.clean(err)
	}
	if len(last) == 0 || parseID(last[0].ID).before(s.read) {
		s.read = s.start(now)
	}
	return nil
}

// data is what Append was given.
func data(m redis.XMessage) []byte {
	text, ok := m.Values[dataField].(string)
	if !ok || len(m.Values) != 1 {
		return nil
	}
	return []byte(text)
}

// size is how many bytes an entry has.
func size(m redis.XMessage) (bytes int) {
	for name, value := range m.Values {
		text, _ := value.(string) // there is nothing else
		bytes += len(name) + len(text)
	}
	return bytes
}

// id is the place of an entry: a time of the server, and a number among those of it.
type id struct{ ms, number uint64 }

// parseID reads an id as the server writes it.
func parseID(text string) id {
	ms, number, _ := strings.Cut(text, "-")
	var i id
	i.ms, _ = strconv.ParseUint(ms, 10, 64) // the server's are all good
	i.number, _ = strconv.ParseUint(number, 10, 64)
	return i
}

// String writes it as the server does.
func (i id) String() string {
	return strconv.FormatUint(i.ms, 10) + "-" + strconv.FormatUint(i.number, 10)
}

// time is the id's time. Another program may have chosen any, so it is bounded.
func (i id) time() time.Time { return time.UnixMilli(int64(min(i.ms, 1<<50))) }

func (i id) before(other id) bool {
	return i.ms < other.ms || i.ms == other.ms && i.number < other.number
}
