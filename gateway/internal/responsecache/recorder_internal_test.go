package responsecache

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/wire"
)

// kept is a Store that keeps the last answer.
type kept struct{ answer *answers.Answer }

func (k *kept) Get(context.Context, answers.Key) (*answers.Answer, bool) { return nil, false }

func (k *kept) Put(_ context.Context, _ answers.Key, a *answers.Answer, _ time.Duration) {
	k.answer = a
}

// sink takes what a recorder lets through.
type sink struct{ out []byte }

func (s *sink) Put(f *wire.Frame) { s.out = f.AppendTo(s.out) }

// record gives a stream to a recorder. It returns what is stored of it, "" for nothing.
func record(t *testing.T, stream []byte, largest int) string {
	t.Helper()
	store := &kept{}
	cache := New([]byte("salt"), nil, time.Now, nil)
	r := &recording{cache: cache, ctx: t.Context(), policy: Policy{Store: store, Largest: largest, TTL: time.Hour}}
	o := &gateway.Outcome{}
	s, err := r.Begin(t.Context(), &gateway.AttemptInfo{}, o)
	if err != nil {
		t.Fatal(err)
	}
	var passed []byte
	var out sink
	for blocks := wire.NewReader(bytes.NewReader(stream), 0); ; {
		b, err := blocks.Next()
		if err != nil {
			break
		}
		if string(b.Data) == "[DONE]" {
			o.End = bytes.Clone(b.Raw)
			break
		}
		passed = append(passed, b.Raw...)
		f := &wire.Frame{Raw: b.Raw, Data: bytes.TrimSpace(b.Data)}
		if len(f.Data) == 0 {
			f.Data = nil
		}
		if err := s.Frame(f, &out); err != nil {
			t.Fatal(err)
		}
		if got := cache.held.Load(); got < 0 || got > int64(len(passed)) {
			t.Fatalf("got %d bytes counted of %d", got, len(passed))
		}
	}
	if err := s.End(io.EOF, &out); err != nil {
		t.Fatal(err)
	}
	if got := cache.held.Load(); got != 0 {
		t.Fatalf("got %d bytes counted at the end", got)
	}
	if !bytes.Equal(out.out, passed) {
		t.Fatalf("got %q passed on of %q", out.out, passed)
	}
	if store.answer == nil {
		return ""
	}
	return string(store.answer.Body)
}

// FuzzRecorder holds that what is stored of a stream is the stream without comments, that it
// would be stored the same once more, and that all bytes are counted and given back.
func FuzzRecorder(f *testing.F) {
	files, err := filepath.Glob("../../../internal/cli/testdata/answers/*/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatalf("got %d files, error %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":1,\"tool_calls\":1},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const largest = 4 << 10
		stored := record(t, stream, largest)
		if stored == "" {
			return
		}
		if len(stored) > largest+len(stream) || !strings.Contains(stored, "[DONE]") || strings.HasPrefix(stored, ":") || strings.Contains(stored, "\n\n:") {
			t.Fatalf("got %q stored", stored)
		}
		if twice := record(t, []byte(stored), largest); twice != stored {
			t.Fatalf("got %q of %q once more", twice, stored)
		}
	})
}

// FuzzRepeatable holds that the reading of a request does not panic, and that one which
// counts as repeatable says so.
func FuzzRepeatable(f *testing.F) {
	data, err := os.ReadFile("../../../internal/cli/testdata/answers/requests.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, members, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			f.Add([]byte(`{"model":"m",` + members + "}"))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := gateway.ParseRequest(body)
		if err != nil {
			return
		}
		if isRepeatable(r) && !bytes.Contains(body, []byte(`"temperature"`)) && !bytes.Contains(body, []byte(`"seed"`)) {
			t.Errorf("got %q for repeatable", body)
		}
	})
}
