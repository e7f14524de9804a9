package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
)

// system is a gateway that serves: the process, and the edition of it that new requests get. It
// is the handler of the clients' server.
type system struct {
	*process
	current atomic.Pointer[edition]
	retired retired
}

// now is the edition at the moment, for whoever only looks. A request gets its own by take.
func (sys *system) now() *edition { return sys.current.Load() }

// take is the edition for a request, which calls its release when it is over.
func (sys *system) take() *edition {
	for {
		if v := sys.current.Load(); v.take() {
			return v
		} // it was replaced meanwhile, and its last request has ended
	}
}

// ServeHTTP implements http.Handler, for clients.
func (sys *system) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := sys.take()
	defer v.release()
	v.server.ServeHTTP(w, r)
}

// operators is the handler of the operators' server.
func (sys *system) operators() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := sys.take()
		defer v.release()
		v.admin.ServeHTTP(w, r)
	})
}

// Chat implements state.Chatter: what runs in the background has the edition of the moment in
// which it begins.
func (sys *system) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	v := sys.take()
	release := sync.OnceFunc(v.release)
	answers := false
	defer func() {
		if !answers { // also if something panicked: who runs it in the background goes on
			release()
		}
	}()
	resp, err := v.chat.Chat(ctx, req)
	if err != nil {
		return nil, err
	}
	answers = true
	resp.Reply = &using{Reply: resp.Reply, release: release}
	return resp, nil
}

// using is an answer that has an edition until it is closed.
type using struct {
	gateway.Reply
	release func()
}

// Close implements gateway.Reply.
func (u *using) Close() error {
	defer u.release()
	return u.Reply.Close()
}

// swap has an edition take the place of the one at the moment, whose requests go on with it. When
// they have ended, what was that one's alone is closed.
func (sys *system) swap(v *edition) {
	old := sys.now()
	sys.apply(v)
	v.tools.Start()
	sys.current.Store(v)
	old.release()
	sys.retired.add(old, sys.now, sys.log)
}

// drain has /readyz say no, and connections end behind their next answer.
func (sys *system) drain() {
	sys.now().server.Drain()
	sys.retired.mu.Lock()
	defer sys.retired.mu.Unlock()
	for _, l := range sys.retired.list {
		l.server.Drain()
	}
}

// close ends all that the gateway holds. Nobody may use it any more.
func (sys *system) close(ctx context.Context) error {
	sys.retired.end()
	return errors.Join(sys.now().close(nil), sys.process.close(ctx))
}

// retired are editions that have been replaced and still have requests.
type retired struct {
	mu   sync.Mutex
	list []*leaving
	work sync.WaitGroup
}

// leaving is one of them.
type leaving struct {
	*edition
	cut chan struct{} // closed where nobody waits for its requests any more
}

// Bounds on them. Requests end with their timeout, and what comes after the last byte is quick.
const (
	maxRetired  = 64
	retiredTime = time.Minute // beyond their timeouts
)

// longestRequest is how long a request of a configuration can take.
func longestRequest(cfg *config.Config) time.Duration {
	tools := func(r config.ResolvedRoute) time.Duration { return time.Duration(r.Tools.Timeout + r.Tools.AnswerTime) }
	longest := tools(cfg.DefaultRoute())
	for name := range cfg.Models {
		longest = max(longest, tools(cfg.Route(name)))
	}
	return longest + time.Duration(cfg.Timeout)
}

// add waits in the background until an edition has no requests any more, or too many or too old
// ones, and closes it. Requests that are left then lose the tool servers which only they have.
func (r *retired) add(v *edition, now func() *edition, log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &leaving{v, make(chan struct{})}
	r.list = append(r.list, l)
	if len(r.list) > maxRetired {
		r.cut(r.list[0])
	}
	r.work.Go(func() {
		timer := time.NewTimer(longestRequest(v.config) + retiredTime)
		defer timer.Stop()
		select {
		case <-v.over:
		case <-l.cut:
		case <-timer.C:
			log.Warn("requests of an earlier configuration still run; what only they use is closed")
		}
		_ = v.close(now())
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cut(l)
	})
}

// cut takes one off the list, and ends the wait for it.
func (r *retired) cut(l *leaving) {
	if i := slices.Index(r.list, l); i >= 0 {
		r.list = slices.Delete(r.list, i, i+1)
		close(l.cut)
	}
}

// number is how many there are.
func (r *retired) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// end waits for no requests any more, and until all are closed.
func (r *retired) end() {
	r.mu.Lock()
	for len(r.list) > 0 {
		r.cut(r.list[0])
	}
	r.mu.Unlock()
	r.work.Wait()
}

// uses counts the requests of an edition, and one for its being the one for new requests.
type uses struct {
	number *atomic.Int64
	over   chan struct{} // closed when the last has ended
}

func newUses() uses {
	u := uses{number: &atomic.Int64{}, over: make(chan struct{})}
	u.number.Store(1)
	return u
}

// take counts one more, unless all are over.
func (u uses) take() bool {
	for {
		n := u.number.Load()
		if n == 0 {
			return false
		}
		if u.number.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release counts one less.
func (u uses) release() {
	if u.number.Add(-1) == 0 {
		close(u.over)
	}
}
