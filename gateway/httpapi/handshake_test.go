package httpapi_test

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/socket"
)

// TestHandshake holds what is said of handshakes that are none, in the form of all errors: one with a body too, whose
// connection would be taken over only when all of that has come.
func TestHandshake(t *testing.T) {
	t.Parallel()
	sockets := socket.New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	g, err := flow.New(flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpapi.New(httpapi.Config{Gateway: g, Sockets: sockets})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.HTTP()
	go func() { _ = server.Serve(s.Listener(listener)) }()
	t.Cleanup(func() { server.Close() })
	const upgrade, connection, version, key = "Upgrade: websocket\r\n", "Connection: Upgrade\r\n", "Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for _, row := range []struct{ header, status, want string }{
		{upgrade + connection + "Sec-WebSocket-Version: 12\r\n" + key, "400", "sec-websocket-version must be 13"},
		{upgrade + connection + key, "400", "sec-websocket-version must be 13"},
		{upgrade + connection + version, "400", "sec-websocket-key must be"},
		{upgrade + connection + version + "Sec-WebSocket-Key: short\r\n", "400", "sec-websocket-key must be"},
		{upgrade + connection + version + key + key, "400", "sec-websocket-key must be"},
		{upgrade + "Connection: close\r\n" + version + key, "400", "the header connection does not name upgrade"},
		{upgrade + connection + version + key + "Content-Length: 1\r\n\r\nx", "400", "it has a body"},
		{upgrade + connection + version + key + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "400", "it has a body"},
		{"Upgrade: h2c\r\n" + connection, "405", "but POST"},
		{connection, "405", "but POST"},
		{"Upgrade: h2c, WebSocket\r\nConnection: keep-alive, upgrade\r\n" + version + key, "101", ""},
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("GET /v1/responses HTTP/1.1\r\nHost: localhost\r\n" + row.header + "\r\n"))
		answer := make([]byte, 4<<10)
		n, err := conn.Read(answer)
		if got := string(answer[:n]); err != nil || statuses(got) != row.status || !strings.Contains(got, row.want) || row.want != "" && !strings.Contains(got, `{"error":{"message":"`) {
			t.Errorf("%q: got %q, %v, want %s and %q", row.header, got, err, row.status, row.want)
		}
		_ = conn.Close()
	}
	if err := sockets.Shutdown(t.Context()); err != nil || sockets.Open() != 0 {
		t.Errorf("got %v, and %d connections", err, sockets.Open())
	}
}
