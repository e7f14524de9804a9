package cli

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/callgate/callgate/gateway"
)

// system is a gateway that serves: the process, and the edition of it that new requests get. It
// is the handler of the clients' server.
type system struct {
	*process
	current atomic.Pointer[edition]
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
	resp, err := v.chat.Chat(ctx, req)
	if err != nil {
		v.release()
		return nil, err
	}
	resp.Reply = &using{Reply: resp.Reply, release: sync.OnceFunc(v.release)}
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

// close ends all that the gateway holds. Nobody may use it any more.
func (sys *system) close(ctx context.Context) error {
	return errors.Join(sys.now().close(), sys.process.close(ctx))
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
