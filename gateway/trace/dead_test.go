package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/trace"
	"github.com/callgate/callgate/internal/logtest"
	"github.com/callgate/callgate/internal/testserver"
)

// logged is a log that can be read.
type logged struct{ logtest.Buffer }

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// spans are the numbers of lost spans that the log was told, line by line.
func (l *logged) spans() (counts []int) {
	for text := range strings.Lines(l.String()) {
		var line struct{ Spans int }
		_ = json.Unmarshal([]byte(text), &line)
		counts = append(counts, line.Spans)
	}
	return counts
}

// refused is the address of nobody.
func refused(t *testing.T) (endpoint string, stop func()) {
	t.Helper()
	return "http://" + testserver.Refusing(t), func() {}
}

// silent takes everything and never answers.
func silent(*testing.T) (endpoint string, stop func()) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-gone
	}))
	return server.URL, func() { close(gone); server.Close() }
}

// failing has much to say about why it takes nothing.
func failing(*testing.T) (endpoint string, stop func()) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(bytes.Repeat([]byte("no \xff"), 10_000))
	}))
	return server.URL, server.Close
}

// TestDeadCollector ends far more spans than the queue holds while nobody takes them.
// No request may wait, the end must come when it is told to, and the log must account
// for every span in a few lines.
func TestDeadCollector(t *testing.T) {
	for _, row := range []struct {
		name     string
		endpoint func(*testing.T) (string, func())
	}{{"refused", refused}, {"silent", silent}, {"failing", failing}} {
		t.Run(row.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			endpoint, stop := row.endpoint(t)
			var log logged
			tracer := newTracer(t, trace.Options{Endpoint: endpoint, Sample: 1, Log: log.logger()})
			const requests, workers = 10_000, 4
			var group sync.WaitGroup
			for range workers {
				group.Go(func() {
					for range requests / workers {
						ctx, end := tracer.Request(t.Context(), nil, "POST", "chat")
						_, endAttempt := tracer.Attempt(ctx, first, http.Header{})
						endAttempt(gateway.AttemptEnd{Outcome: "ok"})
						end(gateway.Record{Status: 200}) // which would never return if it waited for one that is silent
					}
				})
			}
			group.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := tracer.Shutdown(ctx) // nor would this, before stop
			stop()
			if row.name == "silent" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want that the time was over", err)
			}
			total := 0
			for _, n := range log.spans() {
				total += n
			}
			if total != 2*requests {
				t.Errorf("the log accounts for %d spans, want %d: %s", total, 2*requests, log.String())
			}
			if n := len(log.spans()); n > 3 {
				t.Errorf("got %d lines in the log: %s", n, log.String())
			}
			if len(log.String()) > 3000 {
				t.Errorf("got %d bytes of log: the collector's whole answer", len(log.String()))
			}
			goleak.VerifyNone(t, before)
		})
	}
}

// TestRecovers checks that spans arrive again when a collector is back.
func TestRecovers(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	var mu sync.Mutex
	tries := 0
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.Config.Handler.ServeHTTP(w, r)
	}))
	defer flaky.Close()
	var log logged
	tracer := newTracer(t, trace.Options{Endpoint: flaky.URL, Sample: 1, Log: log.logger()})
	_, end := tracer.Request(t.Context(), nil, "POST", "chat")
	end(gateway.Record{})
	if got := len(s.flush(t, tracer)); got != 1 {
		t.Errorf("got %d spans, want 1", got)
	}
	if log.String() != "" {
		t.Errorf("got the log %q, want nothing: the second try went well", log.String())
	}
}

// TestConcurrent makes whole traces from many goroutines; the race detector watches.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	tracer := newTracer(t, trace.Options{Endpoint: s.URL, Sample: 1})
	var group sync.WaitGroup
	const workers, each = 8, 50
	for range workers {
		group.Go(func() {
			for range each {
				ctx, end := tracer.Request(t.Context(), http.Header{}, "POST", "chat")
				_, end1 := tracer.Attempt(ctx, first, http.Header{})
				group.Go(func() { end1(gateway.AttemptEnd{Outcome: "ok"}) }) // a timer may end an attempt while the request ends
				_, end2 := tracer.Attempt(ctx, fallback, http.Header{})
				end2(gateway.AttemptEnd{Outcome: "ok"})
				end(gateway.Record{Summary: &gateway.Summary{Origin: gateway.Origin{Model: "m"}}})
				end2(gateway.AttemptEnd{Outcome: "ok"})
			}
		})
	}
	group.Wait()
	if got := len(s.flush(t, tracer)); got != 3*workers*each {
		t.Errorf("got %d spans, want %d", got, 3*workers*each)
	}
}
