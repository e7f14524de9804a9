package upstream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
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

func newTransport(connect time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
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
