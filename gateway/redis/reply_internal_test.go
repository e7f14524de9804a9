package redis

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// FuzzReplies reads what a server may send in pieces: it is taken or refused however it is cut, and
// what is kept of it is bounded.
func FuzzReplies(f *testing.F) {
	for _, text := range []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$2\r\nok\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "*2\r\n*1\r\n$1\r\na\r\n:1\r\n+OK\r\n",
		"*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nd\r\n$1\r\nx\r\n", "$536870912\r\n", "*1000000000\r\n", ">1\r\n+x\r\n", "$2\r\nokxx", "*9\r\n*9\r\n*9\r\n",
	} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		const most = 100
		read := func(size int) (r replies) {
			r.most = most
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				if r.read([]byte(rest[:min(size, len(rest))])) != nil {
					break
				}
				if len(r.line) > maxLine || len(r.open) > maxDepth || r.skip > most || r.size > most {
					t.Fatalf("%q: %+v is kept", text, r)
				}
			}
			return r
		}
		whole, cut := read(max(len(text), 1)), read(int(size)+1)
		if whole.refused != cut.refused || whole.between() != cut.between() {
			t.Fatalf("%q, whole: %v, between: %v; in pieces of %d: %v, %v", text, whole.refused, whole.between(), size, cut.refused, cut.between())
		}
	})
}

// TestReplies holds what is a whole reply, and what is refused.
func TestReplies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"+OK\r\n": nil, "-ERR no\r\n": nil, ":-1\r\n": nil, "$2\r\nok\r\n": nil, "$0\r\n\r\n": nil, "$-1\r\n": nil, "*-1\r\n": nil, "*0\r\n": nil, "+\r\n": nil,
		"*2\r\n*1\r\n$1\r\na\r\n*0\r\n": nil, "*1\r\n*-1\r\n+OK\r\n": nil, "$93\r\n" + strings.Repeat("x", 93) + "\r\n": nil,
		"$94\r\n": errLarge, "*65537\r\n": errLarge, "*2\r\n*65535\r\n": errLarge, strings.Repeat("*1\r\n", maxDepth+1): errLarge,
		"+" + strings.Repeat("x", maxLine): errLarge, "*60\r\n" + strings.Repeat(":1\r\n", 60): errLarge,
		"$2\r\nokx": errNoReply, "\r\n": errNoReply, "$\r\n": errNoReply, "$-2\r\n": errNoReply, "+OK\n": errNoReply, "_\r\n": errNoReply, ">1\r\n": errNoReply, "$1e3\r\n": errNoReply,
	} {
		r := replies{most: 100}
		if err := r.read([]byte(text)); err != want || r.between() != (want == nil) {
			t.Errorf("%.40q: got error %v, the reply complete: %v, want error %v", text, err, r.between(), want)
		}
	}
}

// TestLeftover holds that no command follows a reply that was not read to its end, so that what is left of it is not
// taken for the reply to the next one.
func TestLeftover(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	go func() {
		for _, text := range []string{"*2\r\n*-1\r\n", "$2\r\nok\r\n"} {
			if _, err := far.Write([]byte(text)); err != nil {
				return
			}
		}
		_, _ = far.Read(make([]byte, 10))
	}()
	c := &conn{Conn: near, replies: replies{most: 100}}
	for _, want := range []error{errLeftover, nil} {
		if _, err := c.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("PING")); !errors.Is(err, want) {
			t.Errorf("got error %v, want %v", err, want)
		}
	}
}
