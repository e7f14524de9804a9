package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// proxyCommand makes this program a reverse proxy. The upstream's URL follows.
const proxyCommand = "proxy"

// serveProxy is the least that a Go program can do between a client and an
// upstream: the standard library's reverse proxy, set up for streams.
func serveProxy(ctx context.Context, out io.Writer, upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	l, err := listen(ctx, out)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		BufferPool:    &buffers{sync.Pool{New: func() any { return new([32 << 10]byte) }}},
		Transport: &http.Transport{
			MaxIdleConns: 2048, MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second,
			DisableCompression: true,
		},
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Without it answers that outrun their request are lost (golang/go#40747).
			_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 always can
			proxy.ServeHTTP(w, r)
		}),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	return server.Serve(l)
}

// buffers is a httputil.BufferPool.
type buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buf []byte) { b.pool.Put((*[32 << 10]byte)(buf)) }
