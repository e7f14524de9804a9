package cli

import (
	"context"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/httpapi"
)

// defective is a gateway that panics.
type defective struct{ httpapi.Chatter }

func (defective) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	panic("a defect")
}

// TestPanicReleasesEdition has a request in the background meet a defect: its edition, which nobody
// else has any more, is over nevertheless.
func TestPanicReleasesEdition(t *testing.T) {
	t.Parallel()
	sys, v := &system{}, &edition{uses: newUses(), chat: defective{}}
	sys.current.Store(v)
	func() {
		defer func() { _ = recover() }()
		_, _ = sys.Chat(t.Context(), &gateway.Request{})
	}()
	v.release() // as swap does
	select {
	case <-v.over:
	default:
		t.Errorf("got %d uses of the edition, want none", v.number.Load())
	}
}
