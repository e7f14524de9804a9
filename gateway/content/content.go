// Package content keeps what requests and answers say, for operators who look into what went wrong. It
// keeps nothing until it is told how long ([Keeper.Configure]), and only of requests that somebody asks
// for at their end ([Recording.End]). All is in memory, and bounded: the whole by a budget, where what is
// oldest makes room, and each text by its first and its last 16 KiB.
package content

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/wire"
)

// Bounds on the content of one request.
const (
	maxHead     = 16 << 10 // bytes of the beginning of a text
	maxTail     = 16 << 10 // and of its end
	maxAttempts = 16
)

// Content is what was said in one request. Nothing in it changes.
type Content struct {
	// Asked is the client's body, as it came.
	Asked Text
	// Attempts are what upstreams were sent, and what they answered.
	Attempts []Attempt
	// More is how many attempts came behind those.
	More int
	// Answered is the body that the client was answered with.
	Answered Text
	// Short says that there was no memory for all of it.
	Short bool
}

// Attempt is what one upstream was sent and has answered. What an adapter translates is here in OpenAI's
// chat form: Sent is the body as it went out, and Came is what the adapter made of the answer.
type Attempt struct {
	Provider, Model string
	Sent, Came      Text
}

// Text is a text, or its beginning and its end.
type Text struct {
	Head, Tail string
	Cut        int // bytes between them
}

// Len is how many bytes the whole text had. The console's page asks.
func (t Text) Len() int { return len(t.Head) + t.Cut + len(t.Tail) }

// Keeper keeps contents. It is safe for concurrent use.
type Keeper struct {
	now func() time.Time

	mu     sync.Mutex
	keep   time.Duration // 0: nothing
	memory int
	used   int
	kept   []*Recording // the oldest first
	timer  *time.Timer
	stats  Stats
}

// Stats are what a Keeper holds, for the metrics.
type Stats struct {
	Requests, Bytes int
	// Short is how many requests there was no memory for all of.
	Short uint64
}

// New makes a Keeper that keeps nothing yet. now is its clock; nil is that of the system.
func New(now func() time.Time) *Keeper {
	if now == nil {
		now = time.Now
	}
	return &Keeper{now: now}
}

// Configure says how long contents are kept, 0 for none, and in how many bytes. What is kept too long by
// that is forgotten now.
func (k *Keeper) Configure(keep time.Duration, memory int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keep, k.memory = keep, memory
	k.expire()
	k.room(0)
}

// Close forgets all, and keeps nothing from now on.
func (k *Keeper) Close() { k.Configure(0, 0) }

// Stats are what is held now.
func (k *Keeper) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.stats
	s.Requests, s.Bytes = len(k.kept), k.used
	return s
}

// On reports whether anything is kept, and how long.
func (k *Keeper) On() (keep time.Duration, on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keep, k.keep > 0
}

// Begin makes the recording of a request; nil where nothing is kept, as of a nil Keeper. Its End has to be called.
func (k *Keeper) Begin() *Recording {
	if k == nil {
		return nil
	}
	if _, on := k.On(); !on {
		return nil
	}
	return &Recording{keeper: k}
}

// claim takes memory, and reports whether there was enough; others that are kept make room.
func (k *Keeper) claim(n int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.room(n) {
		return false
	}
	k.used += n
	return true
}

func (k *Keeper) free(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used -= n
}

// room forgets the oldest until so much more fits.
func (k *Keeper) room(n int) bool {
	for k.used+n > k.memory && len(k.kept) > 0 {
		k.forget(1)
	}
	return k.used+n <= k.memory
}

// forget forgets the oldest.
func (k *Keeper) forget(n int) {
	for _, t := range k.kept[:n] {
		k.used -= t.size
		t.content.Store(nil)
	}
	k.kept = slices.Delete(k.kept, 0, n)
}

// expire forgets what is too old, and sets the timer for what will be.
func (k *Keeper) expire() {
	now, n := k.now(), 0
	for n < len(k.kept) && now.Sub(k.kept[n].ended) >= k.keep {
		n++
	}
	k.forget(n)
	switch {
	case len(k.kept) == 0:
		if k.timer != nil {
			k.timer.Stop()
			k.timer = nil
		}
	case k.timer == nil:
		k.timer = time.AfterFunc(k.left(now), k.tick)
	default:
		k.timer.Reset(k.left(now))
	}
}

// left is how long the oldest stays.
func (k *Keeper) left(now time.Time) time.Duration {
	return max(k.keep-now.Sub(k.kept[0].ended), time.Millisecond)
}

func (k *Keeper) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire()
}

// add keeps a recording.
func (k *Keeper) add(r *Recording) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.content.Load().Short {
		k.stats.Short++
	}
	r.ended = k.now()
	k.kept = append(k.kept, r)
	k.expire()
}

// Recording takes what is said in one request while it runs. A nil one takes nothing. It is safe for
// concurrent use.
type Recording struct {
	keeper  *Keeper
	content atomic.Pointer[Content]
	// Of the keeper, under its lock.
	ended time.Time
	size  int

	mu       sync.Mutex
	over     bool
	short    bool
	asked    clip
	answered clip
	attempts []attempt
	more     int
}

type attempt struct {
	provider, model string
	sent, came      clip
}

// Asked takes the client's body.
func (r *Recording) Asked(body []byte) { r.take(func() *clip { return &r.asked }, body) }

// Answered takes a piece of what the client is answered.
func (r *Recording) Answered(piece []byte) { r.take(func() *clip { return &r.answered }, piece) }

// Sent takes the body that an upstream is sent: another attempt begins.
func (r *Recording) Sent(provider, model string, body wire.Pieces) {
	r.take(func() *clip {
		if len(r.attempts) == maxAttempts {
			r.more++
			return nil
		}
		r.attempts = append(r.attempts, attempt{provider: provider, model: model})
		return &r.attempts[len(r.attempts)-1].sent
	}, body...)
}

// Came takes a piece of what the upstream of the last attempt answers.
func (r *Recording) Came(piece []byte) {
	r.take(func() *clip {
		if len(r.attempts) == 0 || r.more > 0 {
			return nil
		}
		return &r.attempts[len(r.attempts)-1].came
	}, piece)
}

// take adds pieces to the clip that into says, which is asked once; nil for none.
func (r *Recording) take(into func() *clip, pieces ...[]byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	c := into()
	for _, piece := range pieces {
		if c != nil && !c.add(piece, r.keeper.claim) {
			r.short = true
		}
	}
}

// End ends the recording: what was said is kept, or forgotten at once. Only the first call counts.
func (r *Recording) End(keep bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	claimed := r.asked.claimed + r.answered.claimed
	for i := range r.attempts {
		claimed += r.attempts[i].sent.claimed + r.attempts[i].came.claimed
	}
	if keep {
		c := &Content{Asked: r.asked.text(), Answered: r.answered.text(), More: r.more, Short: r.short}
		r.size = size(c.Asked) + size(c.Answered)
		for i := range r.attempts {
			a := &r.attempts[i]
			one := Attempt{a.provider, a.model, a.sent.text(), a.came.text()}
			c.Attempts = append(c.Attempts, one)
			r.size += size(one.Sent) + size(one.Came)
		}
		r.content.Store(c)
	}
	r.asked, r.answered, r.attempts = clip{}, clip{}, nil
	r.keeper.free(claimed - r.size)
	if keep {
		r.keeper.add(r)
	}
}

func size(t Text) int { return len(t.Head) + len(t.Tail) }

// Content is what was said, nil if nothing is kept of it (any more).
func (r *Recording) Content() *Content {
	if r == nil {
		return nil
	}
	return r.content.Load()
}

// clip is a text that comes in pieces, of which the beginning and the end stay.
type clip struct {
	head, tail []byte
	all        int
	claimed    int
	full       bool // there was no memory for all that was to stay
}

// add takes a piece; it reports false if there is no memory for it.
func (c *clip) add(piece []byte, claim func(int) bool) bool {
	c.all += len(piece)
	if c.full || len(piece) == 0 {
		return !c.full
	}
	n := min(maxHead-len(c.head), len(piece))
	head, rest := piece[:n], piece[n:]
	if len(rest) > maxTail {
		rest = rest[len(rest)-maxTail:]
	}
	if c.full = !c.grow(&c.head, len(head), maxHead, claim); c.full {
		return false
	}
	c.head = append(c.head, head...)
	if len(c.tail)+len(rest) > 2*maxTail { // what is left is moved once for each 16 KiB that come
		c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-maxTail):]...)
	}
	if c.full = !c.grow(&c.tail, len(rest), 2*maxTail, claim); c.full {
		return false
	}
	c.tail = append(c.tail, rest...)
	return true
}

// grow makes room for n more bytes, by doubling.
func (c *clip) grow(b *[]byte, n, most int, claim func(int) bool) bool {
	if len(*b)+n <= cap(*b) {
		return true
	}
	to := min(max(2*cap(*b), len(*b)+n, 256), most)
	if !claim(to - cap(*b)) {
		return false
	}
	c.claimed += to - cap(*b)
	*b = append(make([]byte, 0, to), *b...)
	return true
}

// text is what stays.
func (c *clip) text() Text {
	tail := c.tail[max(0, len(c.tail)-maxTail):]
	return Text{Head: string(c.head), Tail: string(tail), Cut: c.all - len(c.head) - len(tail)}
}

type recordingKey struct{}

// With returns a context whose upstream requests a recording is told of; r may be nil.
func With(ctx context.Context, r *Recording) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, recordingKey{}, r)
}

// Of is a context's recording, or nil.
func Of(ctx context.Context) *Recording {
	t, _ := ctx.Value(recordingKey{}).(*Recording)
	return t
}
