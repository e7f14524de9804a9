package state

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestReplayInPieces holds that a client which reads a long feed is given pieces, and all of it:
// each of many that take nothing would else hold a copy of the whole.
func TestReplayInPieces(t *testing.T) {
	t.Parallel()
	f := newFeed()
	event := []byte("event: x\ndata: " + strings.Repeat("y", 1000) + "\n\n")
	all := bytes.Repeat(event, 4000)
	f.add(all)
	f.end()
	next := f.from(0)
	var got []byte
	for {
		piece, err := next(t.Context())
		if len(piece) > maxPiece+len(event) {
			t.Fatalf("got a piece of %d bytes, want at most %d and an event", len(piece), maxPiece)
		}
		if got = append(got, piece...); err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := string(all) + "data: [DONE]\n\n"; string(got) != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}
