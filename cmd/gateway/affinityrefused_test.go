package main

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
