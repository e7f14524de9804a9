package cli

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// harm is what a network does to the answers of an upstream: it takes them from the
// upstream and gives the gateway what becomes of them. gone is closed when the gateway has
// closed its side. Afterwards both connections are closed.
type harm func(gateway *net.TCPConn, upstream io.Reader, gone <-chan struct{})

// overNetwork is an upstream that is reached through a network that does harm.
func overNetwork(t *testing.T, up *site, h harm) *site {
	t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(up.url, "http://"), "/v1")
	return &site{url: serveConns(t, func(c *net.TCPConn, _ func() bool) {
		upstream, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer upstream.Close()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			io.Copy(upstream, c)
		}()
		h(c, upstream, gone)
		c.Close()
		<-gone
	})}
}

// swallows loses every byte, and keeps the connection.
func swallows(_ *net.TCPConn, upstream io.Reader, gone <-chan struct{}) {
	go io.Copy(io.Discard, upstream)
	<-gone
}

// closes loses every byte, and closes the connection when it has lost the first.
func closes(_ *net.TCPConn, upstream io.Reader, _ <-chan struct{}) { upstream.Read(make([]byte, 1)) }

// breaksOff resets the connection in the place of the first byte.
func breaksOff(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) {
	upstream.Read(make([]byte, 1))
	gateway.SetLinger(0)
}

// after closes the connection behind n bytes.
func after(n int64) harm {
	return func(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) { io.CopyN(gateway, upstream, n) }
}

// byteByByte sends each byte in a packet of its own.
func byteByByte(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) {
	trickles(gateway, upstream, 1, 0)
}

// narrowBand has room for little at a time.
func narrowBand(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) {
	trickles(gateway, upstream, 100, 5*time.Millisecond)
}

// latency delays all that comes.
func latency(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) {
	trickles(gateway, upstream, 1<<10, 50*time.Millisecond)
}

// slowClose is in no hurry with the end.
func slowClose(gateway *net.TCPConn, upstream io.Reader, _ <-chan struct{}) {
	io.Copy(gateway, upstream)
	time.Sleep(50 * time.Millisecond)
}

// trickles sends n bytes at a time, each after a pause.
func trickles(to io.Writer, from io.Reader, n int, pause time.Duration) {
	piece := make([]byte, n)
	for {
		got, err := from.Read(piece)
		if time.Sleep(pause); got > 0 {
			if _, err := to.Write(piece[:got]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
