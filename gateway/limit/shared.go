package limit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/redis"
)

//go:embed limit.lua
var script string

// Shared is a Limiter whose numbers are in a Redis that many gateways have in common. It goes by the
// Redis's clock. What the Redis loses is lost: it is to keep its data (appendonly yes).
type Shared struct {
	client *redis.Client
	script *redis.Script
	clock  func() time.Time // of tests; nil: the Redis's own
	name   string           // of this gateway, among those that live
	ahead  atomic.Int64     // how far the Redis's clock is ahead of this one, µs
}

// NewShared makes a Shared, whose keys begin with the client's prefix. now is a clock for tests; nil is that
// of the Redis.
func NewShared(c *redis.Client, now func() time.Time) *Shared {
	return &Shared{client: c, script: redis.NewScript(script), clock: now, name: rand.Text()}
}

// living counts the gateways that have said in the last minute that they live.
const living = `
local t = redis.call('TIME')
redis.call('ZADD', KEYS[1], t[1], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (t[1] - 60))
redis.call('PEXPIRE', KEYS[1], 600000)
return {tostring(redis.call('ZCARD', KEYS[1]))}`

var livingScript = redis.NewScript(living)

// beat says that this gateway lives, and counts those that do.
func (s *Shared) beat(ctx context.Context) (int64, error) {
	out, err := s.client.Run(ctx, livingScript, redis.Keys{s.client.Key("limit", "gateways")}, []any{s.name})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAway, err)
	}
	return strconv.ParseInt(strings.Join(out, ""), 10, 64)
}

func (s *Shared) now() int64 {
	if s.clock != nil {
		return s.clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.ahead.Load()
}

// sharedKeys are the keys of a place, as a Shared has them.
type sharedKeys struct {
	client *redis.Client
	over   string // begins that of a lease which has ended
	limits redis.Keys
}

// keys are those of a place, which are made once.
func (s *Shared) keys(set *Set, p *place) *sharedKeys {
	if made := p.shared.Load(); made != nil && made.client == s.client {
		return made
	}
	made := &sharedKeys{client: s.client, over: s.client.Key("limit", "{"+set.group+"}", "over", "")}
	for i, name := range p.keys {
		key := s.client.Key("limit", name)
		if made.limits = append(made.limits, key); set.limits[i].Kind.IsBudget() {
			made.limits = append(made.limits, key+":holds")
		}
	}
	p.shared.Store(made)
	return made
}

// call are the keys and the argument of the script: an array in MessagePack, which the server reads in one step. It
// has what is for all limits, and seven values for each.
type call struct {
	keys redis.Keys
	args []byte
}

const (
	forAll   = 10
	perLimit = 7
)

// number appends a number in MessagePack, in as few bytes as it takes, mostly.
func (c *call) number(n int64) {
	switch {
	case n >= 0 && n < 128:
		c.args = append(c.args, byte(n))
	case n >= 0 && n <= math.MaxUint32:
		c.args = binary.BigEndian.AppendUint32(append(c.args, 0xce), uint32(n))
	default:
		c.args = binary.BigEndian.AppendUint64(append(c.args, 0xd3), uint64(n))
	}
}

// text appends a number that the script hands to commands alone, in the form that they have.
func (c *call) text(n int64) {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	c.args = append(append(c.args, 0xa0|byte(len(text))), text...)
}

func (c *call) word(s string) {
	s = s[:min(len(s), math.MaxUint8)]
	c.args = append(append(c.args, 0xd9, byte(len(s))), s...)
}

func (s *Shared) begin(op, id string, set *Set, p *place, force bool, seen int64) *call {
	keys := s.keys(set, p)
	c := &call{keys: append(append(make(redis.Keys, 0, 1+len(keys.limits)), keys.over+id), keys.limits...), args: make([]byte, 0, 128+perLimit*9*len(p.keys))}
	c.args = binary.BigEndian.AppendUint16(append(c.args, 0xdc), uint16(forAll+perLimit*len(p.keys))) // at most MaxLimits
	c.word(op)
	c.word(id)
	forced, now := int64(0), int64(0) // 0: the clock of the Redis
	if force {
		forced = 1
	}
	if s.clock != nil {
		now = s.clock().UnixMicro()
	}
	for _, n := range [...]int64{p.from, p.to, Life.Microseconds(), grave.Microseconds()} {
		c.number(n)
	}
	c.text(marked.Milliseconds())
	for _, n := range [...]int64{forced, seen, now} {
		c.number(n)
	}
	return c
}

// limit adds the values of a limit of a kind but for the last two.
func (c *call) limit(kind byte, values [4]int64) {
	c.args = append(c.args, 0xa1, kind)
	for _, n := range values {
		c.number(n)
	}
}

// rate adds a rate, and how many units it is to take; it is kept until it is empty, and longer.
func (c *call) rate(r *rate, units int64) {
	ttl := min(max(r.wait(r.full), 0), 62*24*time.Hour) + r.wait(max(units, 0)) + time.Hour
	c.limit('r', [4]int64{r.cost, r.drain, r.full, r.tick})
	c.number(units)
	c.text(min(ttl, 366*24*time.Hour).Milliseconds())
}

func (c *call) running(most, n int64) {
	c.limit('c', [4]int64{most, n})
	c.number(0)
	c.number(0)
}

// budget adds a budget: what it is to hold, or what was used, what was used so far, and what that was
// when it was said last. end is that of the window, µs.
func (c *call) budget(most, amount, used, last, end int64) {
	if end > 0 {
		end = end/1000 + kept.Milliseconds()
	}
	c.limit('b', [4]int64{most, amount, used, last})
	c.text(end)
	c.number(0)
}

// reply is what the script answers.
type reply struct {
	word  string
	now   int64
	pairs []pair
	own   []int64 // of budgets: what the lease itself held before
}

func (s *Shared) run(ctx context.Context, set *Set, c *call) (*reply, error) {
	began := time.Now()
	out, err := s.client.RunTogether(ctx, s.script, c.keys, []any{c.args})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	r := &reply{}
	numbers := make([]int64, 0, len(out))
	for i, text := range out {
		if i == 0 {
			r.word = text
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: the script answered %.40q", ErrAway, text)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("%w: the script answered nothing", ErrAway)
	}
	r.now, numbers = numbers[0], numbers[1:]
	if s.clock == nil {
		s.ahead.Store(r.now - began.Add(time.Since(began)/2).UnixMicro())
	}
	if r.word != "yes" && r.word != "no" { // "done", "over", "window"
		return r, nil
	}
	r.pairs, r.own = make([]pair, len(set.limits)), make([]int64, len(set.limits))
	for i := range set.limits {
		n := 1
		if set.limits[i].Kind.IsBudget() {
			n = 3
		}
		if len(numbers) < n {
			return nil, fmt.Errorf("%w: the script's answer is too short", ErrAway)
		}
		if r.pairs[i][0] = numbers[0]; n == 3 {
			r.pairs[i][1], r.own[i] = numbers[1], numbers[2]
		}
		numbers = numbers[n:]
	}
	return r, nil
}

// Acquire implements Limiter. A lease is returned also with an error, where nobody knows whether it was
// acquired: it is to be released.
func (s *Shared) Acquire(ctx context.Context, set *Set, id string, holds Holds) (*Lease, Verdict, error) {
	h := holds.bounded()
	hold, used := h.Hold, h.Used
	p := set.at(s.now())
	for try := 0; ; try++ {
		c := s.begin("acquire", id, set, p, false, 0)
		for i := range set.limits {
			l := &set.limits[i]
			switch {
			case l.Kind.IsRate():
				c.rate(&set.rates[i], set.rates[i].units(hold.of(l.Kind)))
			case l.Kind == Concurrency:
				c.running(l.Max, 1)
			default:
				c.budget(l.Max, hold.of(l.Kind), used.of(l.Kind), 0, p.ends[i])
			}
		}
		r, err := s.run(ctx, set, c)
		if err != nil {
			return &Lease{ID: id, set: set, place: p}, Verdict{}, err
		}
		switch r.word {
		case "window": // by its clock another window has begun
			if try >= 2 {
				return nil, Verdict{}, fmt.Errorf("%w: the clock of the Redis jumps", ErrAway)
			}
			p = set.at(r.now)
		case "over":
			return nil, Verdict{}, errOver
		case "no":
			return nil, set.judge(r.pairs, p, r.now, func(i int) int64 { return hold.of(set.limits[i].Kind) }, false), nil
		default:
			v := set.judge(r.pairs, p, r.now, func(int) int64 { return 0 }, true)
			return &Lease{ID: id, set: set, place: p, held: hold.Tokens, used: used, seen: r.now, sure: true}, v, nil
		}
	}
}

// Extend implements Limiter.
func (s *Shared) Extend(ctx context.Context, l *Lease, holds Holds, force bool) (Verdict, error) {
	if l.over {
		return Verdict{}, errOver
	}
	set, p := l.set, l.place
	h := holds.bounded()
	hold, used := h.Hold, h.Used
	c := s.begin("extend", l.ID, set, p, force, l.seen)
	for i := range set.limits {
		one := &set.limits[i]
		switch one.Kind {
		case Tokens:
			c.rate(&set.rates[i], set.rates[i].units(hold.Tokens-l.held))
		case Requests:
			c.rate(&set.rates[i], 0)
		case Concurrency:
			c.running(one.Max, 0)
		default:
			c.budget(one.Max, hold.of(one.Kind), used.of(one.Kind), l.used.of(one.Kind), p.ends[i])
		}
	}
	r, err := s.run(ctx, set, c)
	if err != nil {
		return Verdict{}, err
	}
	if r.word == "over" {
		l.over = true
		return Verdict{}, errOver
	}
	v := set.judge(r.pairs, p, r.now, func(i int) int64 { return hold.of(set.limits[i].Kind) - r.own[i] }, true)
	l.seen, l.used = r.now, used
	if force || v.Refusal == nil {
		l.held = hold.Tokens
	}
	return v, nil
}

// Settle implements Limiter.
func (s *Shared) Settle(ctx context.Context, l *Lease, used Amount) error {
	return s.finish(ctx, l, used.clamp(), "settle")
}

// Release implements Limiter.
func (s *Shared) Release(ctx context.Context, l *Lease) error {
	return s.finish(ctx, l, Amount{}, "release")
}

func (s *Shared) finish(ctx context.Context, l *Lease, used Amount, op string) error {
	if l.over {
		return nil
	}
	set, p := l.set, l.place
	c := s.begin(op, l.ID, set, p, false, l.seen)
	for i := range set.limits {
		one := &set.limits[i]
		units := int64(0)
		switch {
		case one.Kind == Tokens && (l.sure || op == "settle"):
			units = set.rates[i].units(used.Tokens - l.held)
		case one.Kind == Requests && op == "release" && l.sure: // what nobody has taken, perhaps, is not given back
			units = -set.rates[i].cost
		}
		switch {
		case one.Kind.IsRate():
			c.rate(&set.rates[i], units)
		case one.Kind == Concurrency:
			c.running(one.Max, 0)
		default:
			c.budget(one.Max, used.of(one.Kind), 0, l.used.of(one.Kind), p.ends[i])
		}
	}
	if _, err := s.run(ctx, set, c); err != nil {
		return err
	}
	l.over = true
	return nil
}
