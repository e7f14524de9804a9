package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/providers/internal/h1"
)

const (
	maxIdleConns     = 1024 // kept for the next request
	idleConnLifetime = 90 * time.Second
	// writeBuffer lets most requests leave in one write or in few; the transport's own 4 KiB
	// cut a prompt of 16 KiB into five. Each connection has one.
	writeBuffer = 8 << 10
	// readBuffer is how much of a stream one read takes, which then goes on in one write: a stream
	// that comes faster than it is read would take a read and a write for each 4 KiB, the
	// transport's own. Each connection has one.
	readBuffer = 16 << 10
)

func newDialer(connect time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
}

// newPlain is what requests go through that h1 is for; nil if the upstream is not such a one: with TLS,
// behind a proxy, or of a name that needs translation.
func newPlain(base *url.URL, connect time.Duration) *h1.Transport {
	if base.Scheme != "http" || !h1.Supported || strings.ContainsFunc(base.Host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return nil
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base}); proxy != nil || err != nil {
		return nil
	}
	address, dialer := net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "80")), newDialer(connect)
	return h1.New(h1.Options{
		Dial:    func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", address) },
		MaxIdle: maxIdleConns, IdleTime: idleConnLifetime, MaxHeader: maxHeader, ReadBuffer: readBuffer,
	})
}

func newTransport(connect time.Duration) *http.Transport {
	dialer := newDialer(connect)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: proxyAnswer,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return track(c), nil
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        idleConnLifetime,
		MaxResponseHeaderBytes: maxHeader,
		WriteBufferSize:        writeBuffer,
		ReadBufferSize:         readBuffer,
		// Else the transport would ask for gzip, and undo it in a way that hides it.
		DisableCompression: true,
	}
}
