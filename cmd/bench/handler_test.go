package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/internal/jsonlog"
)

// discarded is an http.ResponseWriter that keeps nothing but the number of bytes.
type discarded struct {
	header http.Header
	bytes  int
}

func (d *discarded) Header() http.Header { return d.header }
func (d *discarded) WriteHeader(int)     {}
func (d *discarded) Flush()              {}
func (d *discarded) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return len(p), nil
}

// BenchmarkHandler is what the gateway's own work on a request takes, from net/http's call of the handler
// on: no socket, no upstream, but the log, metrics and headers that every request has.
func BenchmarkHandler(b *testing.B) {
	for _, w := range passages() {
		if !w.guards && w.mode != 0 {
			continue
		}
		b.Run(w.name, func(b *testing.B) {
			g, err := w.gateway(newInstant(w.model))
			if err != nil {
				b.Fatal(err)
			}
			s, err := httpapi.New(httpapi.Config{Gateway: g, Metrics: metrics.New(metrics.Options{}), Log: slog.New(jsonlog.New(io.Discard, slog.LevelInfo))})
			if err != nil {
				b.Fatal(err)
			}
			handle(b, s, request(w.model, w.stream, 1<<10))
		})
	}
}

// handle has a server answer a request again and again.
func handle(b *testing.B, s *httpapi.Server, body []byte) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer none"}}
		out := discarded{header: http.Header{}}
		if s.ServeHTTP(&out, r); out.bytes < 500 {
			b.Fatalf("got %d bytes", out.bytes)
		}
	}
}
