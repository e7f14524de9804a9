package gateway

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/answers"
)

func newTape(largest int) *tape {
	return &tape{g: &Gateway{answering: &answering{flights: answers.NewFlights()}}, policy: AnswerPolicy{Largest: largest}}
}

// record gives a stream to a tape in pieces of a size. It returns what the tape would keep,
// and whether it would.
func record(t *tape, stream []byte, size int) (kept string, sound bool) {
	for len(stream) > 0 {
		n := min(size, len(stream))
		if !t.stream(bytes.Clone(stream[:n])) {
			return "", false
		}
		stream = stream[n:]
	}
	return string(t.kept), t.isSound()
}

// TestTapeLine holds that the beginning of a line counts as long as it is held, and that of a
// comment nothing is.
func TestTapeLine(t *testing.T) {
	t.Parallel()
	tape := newTape(1 << 10)
	counted := func(want int64) {
		t.Helper()
		if got := tape.g.answering.taped.Load(); got != want {
			t.Errorf("got %d bytes counted, want %d", got, want)
		}
	}
	for range 100 {
		if !tape.stream([]byte(": a comment that has no end")) {
			t.Fatal("got a comment refused")
		}
	}
	counted(1)
	if !tape.stream([]byte("\ndata: [DO")) {
		t.Fatal("got the beginning of a line refused")
	}
	counted(int64(len("data: [DO")))
	if !tape.stream([]byte("NE]\n\n")) {
		t.Fatal("got the end of a line refused")
	}
	counted(int64(len("data: [DONE]\n\n")))
	if tape.g.answering.taped.Add(maxTaped); tape.stream([]byte("data")) {
		t.Error("got a line held though there is no room")
	}
	tape.giveUp()
	counted(maxTaped)
}

// FuzzTape holds that it does not matter in which pieces a stream comes, that what is kept
// is the stream without comments, that it would be kept the same once more, and that all
// bytes are counted and given back.
func FuzzTape(f *testing.F) {
	files, err := filepath.Glob("../cmd/gateway/testdata/answers/*/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatalf("got %d files, error %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, 7)
	}
	f.Add([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":1,\"tool_calls\":1},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		const largest = 4 << 10
		one, parts := newTape(largest), newTape(largest)
		kept, sound := record(one, stream, max(len(stream), 1))
		again, same := record(parts, stream, max(size&0xff, 1))
		if kept != again || sound != same {
			t.Fatalf("got %q, %v in one piece and %q, %v in several", kept, sound, again, same)
		}
		for _, tape := range []*tape{one, parts} {
			if got := tape.g.answering.taped.Load(); got != int64(len(tape.kept)+len(tape.line)) {
				t.Fatalf("got %d bytes counted of %d and %d", got, len(tape.kept), len(tape.line))
			}
			tape.giveUp()
			if got := tape.g.answering.taped.Load(); got != 0 {
				t.Fatalf("got %d bytes counted at the end", got)
			}
		}
		if !sound {
			return
		}
		if len(kept) > largest || !strings.Contains(kept, "[DONE]") || strings.Contains("\n"+kept, "\n:") {
			t.Fatalf("got %q kept", kept)
		}
		if twice, still := record(newTape(largest), []byte(kept), len(kept)); twice != kept || !still {
			t.Fatalf("got %q of %q once more", twice, kept)
		}
	})
}

// FuzzRepeatable holds that the reading of a request does not panic, and that one which
// counts as repeatable says so.
func FuzzRepeatable(f *testing.F) {
	data, err := os.ReadFile("../cmd/gateway/testdata/answers/requests.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if _, members, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			f.Add([]byte(`{"model":"m",` + members + "}"))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseRequest(body)
		if err != nil {
			return
		}
		if r.isRepeatable() && !bytes.Contains(body, []byte(`"temperature"`)) && !bytes.Contains(body, []byte(`"seed"`)) {
			t.Errorf("got %q for repeatable", body)
		}
	})
}
