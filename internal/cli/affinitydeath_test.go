package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/breaker"
)

// door is where an upstream listens. It can be shut: connections are refused then, and
// what is being answered is answered to its end.
type door struct {
	t       *testing.T
	address string
	handler http.Handler
	server  *http.Server
	ended   chan error
}

// newDoor opens one, on an address that no other test's server is given while it is shut.
func newDoor(t *testing.T, h func(w http.ResponseWriter, r received)) *door {
	t.Helper()
	d := &door{t: t, address: "127.0.0.77:0", handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h(w, received{r, string(body)})
	})}
	if l, err := net.Listen("tcp", d.address); err == nil {
		_ = l.Close()
	} else {
		d.address = "127.0.0.1:0" // not every system has the other
	}
	d.open()
	t.Cleanup(d.shut)
	return d
}

func (d *door) open() {
	d.t.Helper()
	l, err := net.Listen("tcp", d.address)
	if err != nil {
		d.t.Fatal(err)
	}
	server, ended := &http.Server{Handler: d.handler}, make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	d.address, d.server, d.ended = l.Addr().String(), server, ended
}

func (d *door) shut() {
	if d.server == nil {
		return
	}
	if err := d.server.Shutdown(context.Background()); err != nil {
		d.t.Error(err)
	}
	<-d.ended
	d.server = nil
}

const easilyOpened = "circuit_breaker: {failure_threshold: 2, open_timeout: 1h}"

// TestPrefixOfTheDead lets an upstream die, and come back with an empty cache: no request
// is lost, its conversations move and stay where they went, the others do not move, and
// it gets new ones.
func TestPrefixOfTheDead(t *testing.T) {
	t.Parallel()
	f := newFleet(t, easilyOpened)
	f.crowd("alice")
	talks, where := f.begin(12, "conversation")
	dies := where[0]
	f.sites[dies].fails(true)
	moved := 0
	for i, c := range talks {
		r := f.turn(c, fmt.Sprint("meanwhile ", i))
		now := provider(r)
		reason, expected, _ := cacheHeader(t, r)
		if told := r.header.Get("x-callgate-attempts") != "1"; told != (reason == "fallback") || told && expected > 9 {
			t.Errorf("conversation %d: got %q after %s attempts, want a fallback that has the system prompt at most", i, r.header.Get("x-callgate-prefix"), r.header.Get("x-callgate-attempts"))
		}
		if now == dies || where[i] != dies && now != where[i] {
			t.Errorf("conversation %d went from %s to %s while %s was dead", i, where[i], now, dies)
		}
		if now != where[i] {
			moved++
		}
		where[i] = now
	}
	if moved < 2 {
		t.Fatalf("%d conversations have moved, want two at least for the breaker to open", moved)
	}
	f.awaitBreaker(dies, "open", func(b breaker.Snapshot) bool { return b.State == breaker.Open })
	dead := f.caches()[dies]
	f.begin(8, "new meanwhile")
	if now := f.caches()[dies]; dead.Entries != 0 || now.Entries != 0 || now.Choices != dead.Choices {
		t.Errorf("got %+v of the dead and then %+v, want nothing remembered and no choice of it", dead, now)
	}
	f.sites[dies].fails(false)
	if r := f.adminDo("POST", "/admin/breakers/"+dies+"/reset"); r.status != http.StatusOK {
		t.Fatalf("got status %d, %q, want the breaker closed", r.status, r.body)
	}
	for turn := range 2 {
		f.stays(talks, where, fmt.Sprint("afterwards ", turn))
	}
	talks, where = f.begin(24, "new conversation")
	if !slices.Contains(where, dies) {
		t.Errorf("got the new conversations at %v, want some at %s, which is back", where, dies)
	}
	f.stays(talks, where, "new turn")
}

// TestPrefixRefused lets an upstream go away under load: connections to it are refused, its
// breaker opens, every request has its answer, and its conversations go on elsewhere. When
// it is back, with nothing in its cache, it gets new conversations, and they stay.
func TestPrefixRefused(t *testing.T) {
	t.Parallel()
	doors := map[*warmSite]*door{}
	f := newFleetAt(t, easilyOpened, func(s *warmSite) string {
		doors[s] = newDoor(t, s.serve)
		return "http://" + doors[s].address + "/v1"
	})
	const count, turns = 12, 6
	talks, where := f.begin(count, "conversation")
	dies := where[0]
	site := f.sites[dies]
	all := func(turns int, f func(i, turn int)) {
		var group sync.WaitGroup
		for i := range count {
			group.Go(func() {
				for turn := range turns {
					f(i, turn)
				}
			})
		}
		group.Wait()
	}
	all(turns, func(i, turn int) {
		if i == count-1 && turn == 1 {
			doors[site].shut()
		}
		where[i] = provider(f.turn(talks[i], fmt.Sprintf("conversation %d turn %d", i, turn)))
	})
	// Those of the dead that had no turn left behind its end have one now.
	all(1, func(i, _ int) { where[i] = provider(f.turn(talks[i], fmt.Sprintf("conversation %d once more", i))) })
	if slices.Contains(where, dies) {
		t.Errorf("got the conversations at %v, want none at %s, which refuses connections", where, dies)
	}
	f.awaitBreaker(dies, "open", func(b breaker.Snapshot) bool { return b.State == breaker.Open })
	f.stays(talks, where, "meanwhile")

	site.fails(false) // its cache is empty
	doors[site].open()
	if r := f.adminDo("POST", "/admin/breakers/"+dies+"/reset"); r.status != http.StatusOK {
		t.Fatalf("got status %d, %q, want the breaker closed", r.status, r.body)
	}
	f.stays(talks, where, "afterwards")
	talks, where = f.begin(count, "new conversation")
	if !slices.Contains(where, dies) {
		t.Fatalf("got the new conversations at %v, want some at %s, which is back", where, dies)
	}
	site.mu.Lock()
	before := site.cached
	site.mu.Unlock()
	f.stays(talks, where, "new turn")
	site.mu.Lock()
	defer site.mu.Unlock()
	if site.cached == before {
		t.Errorf("got nothing cached at %s, which is back, want the turns of its new conversations", dies)
	}
}
