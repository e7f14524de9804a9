package redistest_test

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a line and returns the answer's first.
func ask(t *testing.T, s *redistest.Server, line string, patience time.Duration) (string, error) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "redis://"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(answer), err
}

const patience = 5 * time.Minute

func want(t *testing.T, s *redistest.Server, line, answer string) {
	t.Helper()
	if got, err := ask(t, s, line, patience); got != answer || err != nil {
		t.Errorf("%s: got %q and error %v, want %q", line, got, err, answer)
	}
}

// TestServer stops, starts and pauses a server.
func TestServer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	url := s.URL()
	want(t, s, "SET a b", "+OK")
	s.Stop()
	if got, err := ask(t, s, "PING", patience); err == nil {
		t.Errorf("got %q from a server that was killed, want no connection", got)
	}
	s.Stop()
	s.Restart()
	if s.URL() != url {
		t.Errorf("got %s after a restart, want %s", s.URL(), url)
	}
	want(t, s, "GET a", "$-1")
	s.Pause()
	if got, err := ask(t, s, "PING", 200*time.Millisecond); err == nil {
		t.Errorf("got %q from a server that pauses, want nothing", got)
	}
	s.Resume()
	want(t, s, "PING", "+PONG")
}

// TestPassword gives a server an option, beside another server.
func TestPassword(t *testing.T) {
	t.Parallel()
	s, other := redistest.Start(t, "--requirepass", "secret"), redistest.Start(t)
	want(t, s, "AUTH secret", "+OK")
	want(t, s, "GET a", "-NOAUTH Authentication required.")
	want(t, other, "GET a", "$-1")
	if s.URL() == other.URL() || s.KeyPrefix() == other.KeyPrefix() {
		t.Errorf("got %s and %s twice, want a server and keys of its own for each", s.URL(), s.KeyPrefix())
	}
}
