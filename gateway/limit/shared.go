package limit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
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
	// patience is how long the Redis is waited for.
	patience time.Duration
	// unsure counts ends of leases of which nobody is sure, and log hears of them; nil: nobody does.
	unsure atomic.Int64
	log    *slog.Logger
}

// NewShared makes a Shared, whose keys begin with the client's prefix. now is a clock for tests; nil is that
// of the Redis.
func NewShared(c *redis.Client, now func() time.Time) *Shared {
	return &Shared{client: c, script: redis.NewScript(script), clock: now, name: rand.Text(), patience: 250 * time.Millisecond}
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

// now is the time by the Redis's clock, as far as it is known, µs.
func (s *Shared) now() int64 {
	if s.clock != nil {
		return s.clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.ahead.Load()
}

// sharedKeys are the keys of a place, as a Shared has them.
type sharedKeys struct {
	client *redis.Client
	over   string // begins that of a lease which has ended, or was extended
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
// has what is for all limits, and eight values for each.
type call struct {
	keys redis.Keys
	args []byte
}

const (
	forAll   = 11
	perLimit = 8
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

// word appends a text in MessagePack, of which more than 255 bytes are cut off.
func (c *call) word(s string) {
	s = s[:min(len(s), math.MaxUint8)]
	c.args = append(append(c.args, 0xd9, byte(len(s))), s...)
}

// step is something that is done with a lease: op is acquire, extend, settle or release.
type step struct {
	op, lease string
	number    int64 // of an extension
	force     bool
	seen      int64 // when the Redis was told of the lease last; 0 for never
}

// begin makes the call of a step. The values of each limit follow.
func (s *Shared) begin(o step, set *Set, p *place) *call {
	keys := s.keys(set, p)
	c := &call{keys: append(append(make(redis.Keys, 0, 1+len(keys.limits)), keys.over+o.lease), keys.limits...), args: make([]byte, 0, 128+perLimit*9*len(p.keys))}
	c.args = binary.BigEndian.AppendUint16(append(c.args, 0xdc), uint16(forAll+perLimit*len(p.keys))) // at most MaxLimits
	c.word(o.op)
	c.word(o.lease)
	forced, now := int64(0), int64(0) // 0: the clock of the Redis
	if o.force {
		forced = 1
	}
	if s.clock != nil {
		now = s.clock().UnixMicro()
	}
	for _, n := range [...]int64{p.from, p.to, Life.Microseconds(), grave.Microseconds()} {
		c.number(n)
	}
	c.text(marked.Milliseconds())
	c.text(o.number)
	for _, n := range [...]int64{forced, o.seen, now} {
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

// rate adds a rate, how many units it is to take, and how many are left in it at least; it is kept until it is empty, and longer.
func (c *call) rate(r *rate, units, floor int64) {
	ttl := min(max(r.wait(r.full), 0), 62*24*time.Hour) + r.wait(max(units, 0)) + time.Hour
	c.limit('r', [4]int64{r.cost, r.drain, r.full, r.tick})
	c.number(units)
	c.text(min(ttl, 366*24*time.Hour).Milliseconds())
	c.number(floor)
}

// running adds requests at a time: how many of them are the lease's, and how many were.
func (c *call) running(most, n, were int64) {
	c.limit('c', [4]int64{most, n, were})
	c.number(0)
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
	c.number(0)
}

// reply is what the script answers.
type reply struct {
	word  string
	now   int64
	pairs []pair
	own   []int64 // of budgets: what the lease itself held before
}

// run runs the script, and reads what it answers. An error wraps [ErrAway].
func (s *Shared) run(ctx context.Context, set *Set, c *call) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
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
	if r.word == "late" { // one at a time asks for a lease
		return nil, fmt.Errorf("%w: it did a later step first", ErrAway)
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

// want is what a lease is to hold: of one request, or of some at once.
type want struct {
	Holds
	requests int64 // that rates count
	slots    int64 // requests at a time
}

// ofOne is what one request wants.
func ofOne(h Holds) want { return want{h.bounded(), 1, 1} }

// of is how much a limit of a kind is to hold.
func (w *want) of(k Kind) int64 {
	switch k {
	case Requests:
		return w.requests
	case Concurrency:
		return w.slots
	}
	return w.Hold.of(k)
}

// seen is what the limits of a set had behind a step at the Redis, and when.
type seen struct {
	pairs []pair
	at    int64 // µs, by the Redis's clock
}

// Acquire implements Limiter. A lease is returned also with an error, where nobody knows whether it was
// acquired: it is to be released.
func (s *Shared) Acquire(ctx context.Context, set *Set, id string, holds Holds) (*Lease, Verdict, error) {
	l, v, _, err := s.acquire(ctx, set, id, ofOne(holds))
	return l, v, err
}

// acquire is Acquire for whatever a lease is to hold. What the limits have behind it is returned too.
func (s *Shared) acquire(ctx context.Context, set *Set, id string, w want) (*Lease, Verdict, seen, error) {
	p := set.at(s.now())
	for try := 0; ; try++ {
		c := s.begin(step{op: "acquire", lease: id}, set, p)
		for i := range set.limits {
			l := &set.limits[i]
			switch n := w.of(l.Kind); {
			case l.Kind.IsRate():
				c.rate(&set.rates[i], set.rates[i].units(n), 0)
			case l.Kind == Concurrency:
				c.running(l.Max, n, 0)
			default:
				c.budget(l.Max, n, w.Used.of(l.Kind), 0, p.ends[i])
			}
		}
		r, err := s.run(ctx, set, c)
		if err != nil {
			return leaseAtRedis(id, set, p, atRedis{slots: w.slots}), Verdict{}, seen{}, err
		}
		now := seen{r.pairs, r.now}
		switch r.word {
		case "window": // by its clock another window has begun
			if try >= 2 {
				return nil, Verdict{}, seen{}, fmt.Errorf("%w: the clock of the Redis jumps", ErrAway)
			}
			p = set.at(r.now)
		case "over":
			return nil, Verdict{}, seen{}, errOver
		case "no":
			return nil, set.judge(r.pairs, p, r.now, func(i int) int64 { return w.of(set.limits[i].Kind) }, false), now, nil
		default:
			v := set.judge(r.pairs, p, r.now, func(int) int64 { return 0 }, true)
			l := leaseAtRedis(id, set, p, atRedis{slots: w.slots, seen: r.now})
			l.held, l.used, l.sure = w.Hold.Tokens, w.Used, true
			return l, v, now, nil
		}
	}
}

// Extend implements Limiter.
func (s *Shared) Extend(ctx context.Context, l *Lease, holds Holds, force bool) (Verdict, error) {
	if l.over {
		return Verdict{}, errOver
	}
	v, _, err := s.extend(ctx, l, ofOne(holds), 0, force)
	return v, err
}

// extend renews a lease. So many requests, and the tokens that it no longer holds, are given back to rates; a lease gives
// back once, also if the answer is lost.
func (s *Shared) extend(ctx context.Context, l *Lease, w want, back int64, force bool) (Verdict, seen, error) {
	set, p := l.set, l.place
	units := make([]int64, len(set.limits)) // that rates are to take
	l.steps++
	c := s.begin(step{op: "extend", lease: l.ID, number: l.steps, force: force, seen: l.seen}, set, p)
	for i := range set.limits {
		one := &set.limits[i]
		switch one.Kind {
		case Tokens:
			units[i] = set.rates[i].units(w.Hold.Tokens - l.held)
			c.rate(&set.rates[i], units[i], l.floor(i))
		case Requests:
			units[i] = -set.rates[i].units(back)
			c.rate(&set.rates[i], units[i], l.floor(i))
		case Concurrency:
			c.running(one.Max, w.slots, l.slots)
		default:
			c.budget(one.Max, w.Hold.of(one.Kind), w.Used.of(one.Kind), l.used.of(one.Kind), p.ends[i])
		}
	}
	if force {
		l.held = min(l.held, w.Hold.Tokens)
	}
	were := l.slots
	l.slots = max(l.slots, w.slots) // if the answer is lost
	r, err := s.run(ctx, set, c)
	if err != nil {
		return Verdict{}, seen{}, err
	}
	if r.word == "over" {
		l.over = true
		return Verdict{}, seen{}, errOver
	}
	v := set.judge(r.pairs, p, r.now, func(i int) int64 { return w.Hold.of(set.limits[i].Kind) - r.own[i] }, true)
	grown := force || v.Refusal == nil
	if grown {
		l.held = w.Hold.Tokens
	}
	l.seen, l.used, l.slots = r.now, w.Used, w.slots
	return v, seen{l.behind(r, w, units, w.slots-were, grown), r.now}, nil
}

// behind is what limits have once a lease was renewed; the reply says what they had before.
func (l *Lease) behind(r *reply, w want, units []int64, slots int64, grown bool) []pair {
	pairs := make([]pair, len(r.pairs))
	for i, n := range r.pairs {
		switch k := l.set.limits[i].Kind; k {
		case Concurrency:
			n[0] += slots
		case Money, Quota:
			to := w.Hold.of(k)
			if !grown {
				to = max(r.own[i], w.Used.of(k))
			}
			n[1] += to - r.own[i]
		default:
			if grown {
				n[0] = max(add(n[0], units[i]), l.floor(i))
			}
		}
		pairs[i] = n
	}
	return pairs
}

// Settle implements Limiter.
func (s *Shared) Settle(ctx context.Context, l *Lease, used Amount) error {
	return s.finish(ctx, l, used.clamp(), "settle")
}

// Release implements Limiter.
func (s *Shared) Release(ctx context.Context, l *Lease) error {
	if l.sure && l.local == nil { // what nobody has taken, perhaps, is not given back
		l.back = 1
	}
	return s.finish(ctx, l, Amount{}, "release")
}

// finish ends a lease: op is settle or release.
func (s *Shared) finish(ctx context.Context, l *Lease, used Amount, op string) error {
	if l.over {
		return nil
	}
	unsure := s.forgotten(l)
	if unsure && op == "release" { // else what others have used would be given back, if the Redis has heard of it
		s.doubt(l, "limits: what a request held may count as used, since it was given back too late to be sure that this had not been done", used)
		l.over = true
		return nil
	}
	r, err := s.run(ctx, l.set, s.ending(l, used, op))
	if err != nil {
		if l.told == 0 && sent(err) {
			l.told = s.now()
		}
		return err
	}
	if unsure && r.word != "over" {
		s.doubt(l, "limits: what a request used may count twice, since it was told again too late to be sure that it had not been counted", used)
	}
	l.over = true
	return nil
}

// ending is the call that ends a lease.
func (s *Shared) ending(l *Lease, used Amount, op string) *call {
	set, p := l.set, l.place
	c := s.begin(step{op: op, lease: l.ID, seen: l.seen}, set, p)
	for i := range set.limits {
		one := &set.limits[i]
		switch {
		case one.Kind == Tokens && (l.sure || op == "settle"):
			c.rate(&set.rates[i], set.rates[i].units(used.Tokens-l.held), l.floor(i))
		case one.Kind == Requests:
			c.rate(&set.rates[i], -set.rates[i].units(l.back), l.floor(i))
		case one.Kind.IsRate():
			c.rate(&set.rates[i], 0, 0)
		case one.Kind == Concurrency:
			c.running(one.Max, 0, l.slots)
		default:
			c.budget(one.Max, used.of(one.Kind), 0, l.used.of(one.Kind), p.ends[i])
		}
	}
	return c
}

// forgotten reports whether the Redis may have heard of the end of a lease so long ago that it does not know it any more.
func (s *Shared) forgotten(l *Lease) bool {
	return l.told != 0 && s.now()-l.told > (marked-time.Minute).Microseconds() // its clock and this one may differ a little
}

// sent reports whether the Redis may have heard of what has failed.
func sent(err error) bool { return !errors.Is(err, redis.ErrUnsent) }

// doubt notes that nobody is sure whether the end of a lease was counted.
func (s *Shared) doubt(l *Lease, what string, used Amount) {
	s.unsure.Add(1)
	if s.log != nil {
		s.log.Warn(what, "lease", l.ID, "limits_of", l.set.group, "tokens", used.Tokens, "usd", Dollars(used.Nano), "after", time.Duration(s.now()-l.told)*time.Microsecond)
	}
}
