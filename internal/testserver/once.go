package testserver

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// ReadsOn is a server that answers the first request it gets, and closes the connection of each later one once
// it has read it; with goes it takes no further connection then. It counts all that it has read.
func ReadsOn(tb testing.TB, answer string, goes bool) (address string, read *atomic.Int32) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the test
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	read = new(atomic.Int32)
	serve := func(c net.Conn) {
		defer c.Close()
		for r := bufio.NewReader(c); ; {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if read.Add(1) > 1 {
				if goes {
					l.Close()
				}
				return
			}
			_, _ = io.WriteString(c, answer)
		}
	}
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go serve(c)
		}
	}()
	return l.Addr().String(), read
}
