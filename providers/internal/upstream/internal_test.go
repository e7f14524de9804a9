package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		5 * time.Second: "5s", time.Minute: "60s", 90 * time.Second: "90s", 10 * time.Minute: "10m", time.Hour: "1h",
		150 * time.Second: "2m30s", 30 * time.Millisecond: "30ms", 1500 * time.Millisecond: "1.5s",
	} {
		if got := Plain(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	inner := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 80}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "inner.example", Server: "10.1.2.3:53"}, "cannot be resolved"},
		{syscall.ECONNRESET, "reset the connection"},
		{syscall.ENETUNREACH, "cannot be reached"},
		{io.EOF, "closed the connection before it answered"},
		{errors.New("http: server closed idle connection"), "closed the connection before it answered"},
		{errors.New("something at 10.1.2.3"), "the request to host.example failed"},
	} {
		err := fmt.Errorf("wrapped: %w", &net.OpError{Op: "read", Net: "tcp", Addr: inner, Err: tt.err})
		got := reason(err, "host.example")
		if !strings.Contains(got, tt.want) || !strings.Contains(got, "host.example") || strings.Contains(got, "10.") || strings.Contains(got, "inner") {
			t.Errorf("%v: got %q, want %q with the configured host and no other", tt.err, got, tt.want)
		}
	}
}

// TestReasonOfProxy is that the proxy's failure is not told as the upstream's.
func TestReasonOfProxy(t *testing.T) {
	t.Parallel()
	refusal := proxyAnswer(t.Context(), nil, nil, &http.Response{StatusCode: http.StatusForbidden})
	for _, err := range []error{refusal, &net.OpError{Op: toProxy, Net: "tcp", Err: syscall.ECONNREFUSED}} {
		if got := reason(fmt.Errorf("wrapped: %w", err), "host.example"); !strings.Contains(got, "HTTPS_PROXY") || strings.Contains(got, "refused") {
			t.Errorf("%v: got %q, want the proxy named", err, got)
		}
	}
	if err := proxyAnswer(t.Context(), nil, nil, &http.Response{StatusCode: http.StatusOK}); err != nil {
		t.Errorf("got %v for a proxy that connects", err)
	}
}

// TestWholeDefault is half of the total, and no less than 5 minutes: a shorter total counts then.
func TestWholeDefault(t *testing.T) {
	t.Parallel()
	for given, want := range map[Timeouts]time.Duration{
		{}: 5 * time.Minute, {Total: time.Second}: 5 * time.Minute, {Total: time.Hour}: 30 * time.Minute, {Total: time.Hour, Whole: time.Second}: time.Second,
	} {
		if got, err := given.withDefaults(); err != nil || got.Whole != want {
			t.Errorf("%+v: got %v and error %v, want %v", given, got.Whole, err, want)
		}
	}
}
