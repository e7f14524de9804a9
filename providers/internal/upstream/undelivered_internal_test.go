package upstream

import (
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// endsLate is a connection that the upstream has closed, whose Read has to wait for its turn on a busy machine.
type endsLate struct{ net.Conn }

// Read implements net.Conn.
func (endsLate) Read([]byte) (int, error) {
	time.Sleep(500 * time.Millisecond)
	return 0, io.EOF
}

// Write implements net.Conn.
func (endsLate) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestWriteWaitsForTheEnd holds that a Write that has failed waits for the Read that says why, half a second if need be:
// without it, it would not be certain that the upstream has nothing of the request.
func TestWriteWaitsForTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := track(endsLate{}).(*tracked)
		read := make(chan error, 1)
		go func() {
			_, err := c.Read(make([]byte, 1))
			read <- err
		}()
		if n, err := c.Write([]byte("POST")); n != 0 || err != syscall.EPIPE {
			t.Errorf("got %d and %v, want a broken pipe", n, err)
		}
		if !c.ended.Load() || c.broken.Load() {
			t.Error("got a connection of which nobody knows how it has ended")
		}
		if err := <-read; err != io.EOF {
			t.Errorf("got %v, want the end", err)
		}
	})
}
