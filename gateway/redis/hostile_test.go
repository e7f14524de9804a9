package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/redis"
)

// impostor is a server that answers a client's commands as its test wants.
type impostor struct {
	listener net.Listener
	served   sync.WaitGroup
	closing  chan struct{}
}

// newImpostor starts a server. answer is given the name of each command.
func newImpostor(t *testing.T, answer func(name string, to io.Writer, closing <-chan struct{})) *impostor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &impostor{listener: l, closing: make(chan struct{})}
	s.served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.served.Go(func() { s.serve(c, answer) })
		}
	})
	t.Cleanup(func() {
		close(s.closing)
		l.Close()
		s.served.Wait()
	})
	return s
}

func (s *impostor) serve(c net.Conn, answer func(string, io.Writer, <-chan struct{})) {
	defer c.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.closing:
			c.Close()
		case <-stop:
		}
	}()
	for in := bufio.NewReader(c); ; {
		name, err := command(in)
		if err != nil {
			return
		}
		answer(name, c, s.closing)
	}
}

// command reads a command and returns its name.
func command(in *bufio.Reader) (name string, err error) {
	number := func(mark byte) int {
		line, failed := in.ReadString('\n')
		if failed != nil || line[0] != mark {
			err = io.ErrUnexpectedEOF
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		return n
	}
	for n := number('*'); n > 0 && err == nil; n-- {
		word := make([]byte, number('$')+2)
		if _, failed := io.ReadFull(in, word); failed != nil {
			return "", failed
		}
		if name == "" {
			name = strings.ToUpper(strings.TrimSpace(string(word)))
		}
	}
	return name, err
}

// open makes a client of the server.
func (s *impostor) open(t *testing.T) *redis.Client {
	t.Helper()
	c, err := redis.Open(redis.Options{URL: "redis://" + s.listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// patience is how long a test waits before it says what hangs.
const patience = time.Minute

// TestRedisHostile holds that whatever a server sends in the place of a reply, the call fails and
// takes little memory. It counts what the process allocates, so it runs alone.
func TestRedisHostile(t *testing.T) {
	const (
		little = 4 << 20                          // bytes, for connections and their buffers
		some   = 3*redis.DefaultMaxReply + little // for a reply as large as one may be
	)
	endless := func(unit string) func(io.Writer) {
		return func(to io.Writer) {
			for text := []byte(strings.Repeat(unit, 4096/len(unit)+1)); ; {
				if _, err := to.Write(text); err != nil {
					return
				}
			}
		}
	}
	text := func(s string) func(io.Writer) { return func(to io.Writer) { io.WriteString(to, s) } }
	replies := map[string]struct {
		send func(io.Writer)
		most uint64
	}{
		"half a gigabyte announced": {text("$536870912\r\n"), little},
		"half a gigabyte, in pieces": {func(to io.Writer) {
			to.Write([]byte("$5368"))
			time.Sleep(time.Millisecond)
			to.Write([]byte("70912\r\n"))
		}, little},
		"more than a length can be":   {text("$99999999999999999999\r\n"), little},
		"the largest length":          {text("$9223372036854775807\r\n"), little},
		"half a gigabyte in an array": {text("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nd\r\n$536870912\r\n"), little},
		"a billion elements":          {text("*1000000000\r\n"), little},
		"a billion elements within":   {text("*1\r\n*2\r\n$1\r\ns\r\n*1000000000\r\n"), little},
		"many large arrays":           {text("*2\r\n" + strings.Repeat("*60000\r\n", 100)), little},
		"arrays in arrays":            {func(to io.Writer) { to.Write([]byte("*2\r\n$1\r\na\r\n")); endless("*1\r\n")(to) }, little},
		"an endless line":             {endless("+aaaaaaaaaaaaaaaa"), little},
		"an endless error":            {func(to io.Writer) { to.Write([]byte("-ERR ")); endless("a")(to) }, little},
		"an endless number":           {func(to io.Writer) { to.Write([]byte(":")); endless("1")(to) }, little},
		"endless strings in an array": {func(to io.Writer) {
			to.Write([]byte("*60000\r\n"))
			endless("$1000\r\n" + strings.Repeat("x", 1000) + "\r\n")(to)
		}, some},
		"a string that is larger than one": {func(to io.Writer) {
			to.Write([]byte("$" + strconv.Itoa(redis.DefaultMaxReply) + "\r\n"))
			endless("x")(to)
		}, little},
		"the largest string":     {func(to io.Writer) { to.Write([]byte("$8000000\r\n")); endless("x")(to) }, some},
		"pushes":                 {endless(">2\r\n$7\r\nmessage\r\n$1\r\nx\r\n"), little},
		"a map":                  {text("%1000000000\r\n"), little},
		"an attribute":           {text("|1000000000\r\n"), little},
		"a blob error":           {text("!536870912\r\n"), little},
		"a verbatim string":      {text("=536870912\r\n"), little},
		"a streamed string":      {text("$?\r\n"), little},
		"a length below nothing": {text("$-5\r\n"), little},
		"an array below nothing": {text("*-5\r\n"), little},
		"lines of Unix":          {text("$536870912\n"), little},
		"another protocol":       {text("HTTP/1.1 400 Bad Request\r\n\r\n"), little},
		"zeros":                  {endless("\x00"), little},
		"nothing on a line":      {endless("\r\n"), little},
	}
	for name, reply := range replies {
		for _, when := range []string{"greeting", "value", "stream"} {
			t.Run(name+" in the place of the "+when, func(t *testing.T) {
				server := newImpostor(t, func(name string, to io.Writer, _ <-chan struct{}) {
					switch {
					case when == "greeting", when == "value" && name == "GETRANGE", when == "stream" && (name == "XREAD" || name == "TIME"):
						reply.send(to)
					case name == "HELLO":
						io.WriteString(to, "-ERR unknown command\r\n")
					default:
						io.WriteString(to, "+OK\r\n")
					}
				})
				c := server.open(t)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var err error
				if when == "stream" {
					_, _, err = c.Stream("s", redis.StreamOptions{Keep: time.Minute, Length: 10}).Next(ctx)
				} else {
					_, _, err = c.GetUpTo(ctx, "k", 1<<20)
				}
				runtime.ReadMemStats(&after)
				if err == nil || ctx.Err() != nil || len(err.Error()) > 250 {
					t.Errorf("got error %v, want that the reply is refused, in a line", err)
				}
				if got := after.TotalAlloc - before.TotalAlloc; got > reply.most {
					t.Errorf("got %d bytes allocated, want %d at most", got, reply.most)
				}
			})
		}
	}
}

// TestRedisHangs holds that a call ends with its context, wherever the server falls silent.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	for name, sends := range map[string]string{
		"after the connection": "", "in a line": "$10", "in a string": "$1000\r\nabc", "in an array": "*2\r\n$1\r\na\r\n", "behind an announcement": "$1000\r\n",
	} {
		for _, scheme := range []string{"redis", "rediss"} {
			t.Run(name+", "+scheme, func(t *testing.T) {
				t.Parallel()
				server := newImpostor(t, func(_ string, to io.Writer, closing <-chan struct{}) {
					io.WriteString(to, sends)
					<-closing
				})
				// The library's own times are longer than the test waits.
				c, err := redis.Open(redis.Options{URL: fmt.Sprintf("%s://%s?dial_timeout=10m&read_timeout=10m&write_timeout=10m&pool_timeout=10m", scheme, server.listener.Addr())})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					ended := make(chan error, 1)
					go func() {
						_, _, err := c.GetUpTo(ctx, "k", 1<<20)
						ended <- err
					}()
					select {
					case err := <-ended:
						if err == nil {
							t.Error("got no error, want one after 100 ms")
						}
					case <-time.After(patience):
						t.Fatal("the call has not ended with its context")
					}
					cancel()
				}
			})
		}
	}
}
