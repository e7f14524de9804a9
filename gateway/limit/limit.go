package limit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Kind is what a limit counts.
type Kind uint8

// The kinds of limits.
const (
	Requests    Kind = iota // a rate of requests: of answers that models are asked for
	Tokens                  // a rate of tokens, in and out
	Concurrency             // requests at a time
	Money                   // a budget in 10⁻⁹ US dollars
	Quota                   // a budget in tokens
)

var kindNames = [...]string{"requests", "tokens", "concurrency", "usd", "token_budget"}

// String is the kind's name in metrics and the log.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// IsRate reports whether a limit of the kind has a time in which so much may come.
func (k Kind) IsRate() bool { return k == Requests || k == Tokens }

// IsBudget reports whether a limit of the kind has a window.
func (k Kind) IsBudget() bool { return k == Money || k == Quota }

// MaxAmount is the largest limit, and the largest hold: 2⁵² tokens or 10⁻⁹ US dollars, which are 4.5
// million dollars. The sum of two is still a whole number for Lua.
const MaxAmount = 1 << 52

// USD is how many units of Money a US dollar has.
const USD = 1_000_000_000

// Scope is whose limit it is, or what it is for.
type Scope struct {
	// Of is the kind of scope, for metrics: "key", "team", "model", "key_model", "team_model". Name is
	// that of the key, team or model. Models are the names or patterns of models that alone count, where
	// it is not all, joined by commas.
	Of, Name, Models string
}

// String says it for people: key "alice", models "gpt-*".
func (s Scope) String() string {
	text := s.Of
	text, _, _ = strings.Cut(text, "_")
	if s.Name != "" {
		text += " " + strconv.Quote(s.Name)
	}
	if s.Models != "" {
		text += ", models " + strconv.Quote(s.Models)
	}
	return text
}

// Limit is one limit.
type Limit struct {
	Scope Scope
	Kind  Kind
	// Max is how much: requests, tokens, 10⁻⁹ US dollars. 0 lets nothing pass.
	Max int64
	// Per is the time of a rate, in which Max come back. Burst is how much may come at once; 0 is Max.
	Per   time.Duration
	Burst int64
	// Window is that of a budget.
	Window Window
	// Away says what happens while the Redis is away.
	Away Policy
	// Cut says that a running answer is cut short where the budget ends; else it is finished.
	Cut bool
}

// Policy is what happens to a limit while the Redis is away.
type Policy uint8

// The policies.
const (
	// ByKind is LocalShare for rates and requests at a time; and for budgets LocalShare for half a minute, then Closed.
	ByKind Policy = iota
	// LocalShare lets each gateway have what is left, divided by the number of gateways that there were.
	LocalShare
	// Closed refuses all.
	Closed
	// Open does not limit.
	Open
)

// Amount is what a request uses, or may.
type Amount struct{ Tokens, Nano int64 }

// Most is the larger of both, by each part.
func (a Amount) Most(b Amount) Amount {
	return Amount{max(a.Tokens, b.Tokens), max(a.Nano, b.Nano)}
}

// plus is the sum; it does not run over.
func (a Amount) plus(b Amount) Amount {
	return Amount{min(a.Tokens+b.Tokens, 1<<60), min(a.Nano+b.Nano, 1<<60)}
}

func (a Amount) minus(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.Nano - b.Nano} }

func (a Amount) clamp() Amount {
	return Amount{min(max(a.Tokens, 0), MaxAmount), min(max(a.Nano, 0), MaxAmount)}
}

// of is the part that a kind counts.
func (a Amount) of(k Kind) int64 {
	switch k {
	case Tokens, Quota:
		return a.Tokens
	case Money:
		return a.Nano
	}
	return 1
}

// Same reports whether two limits count the same thing of the same one, also where one is a gateway's part of the
// other, which has another Max.
func (l *Limit) Same(as *Limit) bool {
	return l.Scope == as.Scope && l.Kind == as.Kind && l.Per == as.Per && l.Window == as.Window
}

// Check says what is wrong with a limit.
func (l *Limit) Check() error {
	switch {
	case int(l.Kind) >= len(kindNames):
		return fmt.Errorf("there is no limit of kind %d", l.Kind)
	case l.Max < 0:
		return errors.New("a limit cannot be below 0")
	case l.Max > MaxAmount && l.Kind == Money:
		return fmt.Errorf("a budget can be %d US dollars at most", int64(MaxAmount/USD))
	case l.Max > MaxAmount:
		return fmt.Errorf("a limit can be %d at most", int64(MaxAmount))
	case l.Kind.IsRate() && (l.Per < time.Second || l.Per > 31*24*time.Hour):
		return errors.New("the time of a rate is from one second to 31 days")
	case l.Kind.IsRate() && (l.Burst < 0 || l.Burst > MaxAmount):
		return errors.New("a burst cannot be below 0, or that large")
	case l.Kind.IsBudget() && !l.Window.known():
		return fmt.Errorf("there is no window %q", l.Window)
	}
	return nil
}

// rate is a limit of a rate as a bucket in whole numbers: what is in it is counted in units of which a
// request or token adds cost, and drain run out in each tick. So no number has a fraction.
type rate struct {
	cost, drain, full int64
	tick              int64 // µs
}

// newRate makes the bucket with the finest tick whose numbers fit.
func newRate(l *Limit) rate {
	burst := l.Burst
	if burst == 0 {
		burst = l.Max
	}
	if l.Max == 0 || burst == 0 {
		return rate{cost: 1, tick: 1}
	}
	for tick := int64(1); ; tick *= 10 {
		per := max(l.Per.Microseconds()/tick, 1)
		d := gcd(per, l.Max)
		r := rate{cost: per / d, drain: l.Max / d, tick: tick}
		if high, low := bits.Mul64(uint64(burst), uint64(r.cost)); high == 0 && low <= MaxAmount {
			r.full = int64(low)
			return r
		}
		if per == 1 { // more than fits in any unit: a bucket of the largest size
			r.full = MaxAmount
			return r
		}
	}
}

// units is what an amount adds; it is bounded.
func (r *rate) units(n int64) int64 {
	if n < 0 {
		return -r.units(-n)
	}
	high, low := bits.Mul64(uint64(n), uint64(r.cost))
	if high > 0 || low > MaxAmount {
		return MaxAmount
	}
	return int64(low)
}

// drained is what is left of a level after some time.
func (r *rate) drained(level, last, now int64) int64 {
	if level == 0 || r.drain == 0 {
		return level
	}
	ticks := now/r.tick - last/r.tick
	if ticks <= 0 { // or the clock was put back: then it goes on from there
		return level
	}
	if ticks > level/r.drain {
		return 0
	}
	return level - ticks*r.drain
}

// wait is how long it takes until so many units are drained; 0 for none, and the longest time for never.
func (r *rate) wait(units int64) time.Duration {
	if units <= 0 {
		return 0
	}
	if r.drain == 0 {
		return math.MaxInt64
	}
	ticks := units / r.drain
	if units%r.drain != 0 {
		ticks++
	}
	if ticks > int64(100*365*24*time.Hour/time.Microsecond)/r.tick {
		return 100 * 365 * 24 * time.Hour
	}
	return time.Duration(ticks*r.tick) * time.Microsecond
}

// converted is a level in units of another cost, where the limit was changed.
func converted(level, cost, to int64) int64 {
	if cost == to || cost <= 0 {
		return level
	}
	return int64(min(math.Ceil(float64(level)/float64(cost)*float64(to)), MaxAmount))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
