package quality_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/quality"
)

// TestLargeBucket holds that other gateways read all of what one counts in a bucket, however many tools are called in it and however long
// their names are.
func TestLargeBucket(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var entries [][]byte
	away := false
	var books []*quality.Book
	var sharers []*quality.Sharer
	for range 2 {
		b := quality.New(quality.Options{Now: func() time.Time { return now }})
		books = append(books, b)
		sharers = append(sharers, quality.NewSharer(b, &stream{&entries, 0, &away}, []byte("salt"), 0, nil))
	}
	for model := range 4 {
		for tool := range 1020 {
			name := fmt.Sprintf("%04d%s", tool, strings.Repeat("x", 120))
			books[0].Record(quality.Target{Provider: "provider", Model: fmt.Sprint("model", model), Parser: "auto"},
				quality.Turn{Calls: []quality.Call{{Tool: quality.Tool{Name: name, Schema: ^uint64(0) - uint64(tool)}}}})
		}
	}
	now = now.Add(20 * time.Second)
	for _, s := range sharers {
		if err := s.Exchange(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	share := books[1].Snapshot().Share
	if share == nil || share.Foreign != 0 || share.Received == 0 {
		t.Errorf("got %+v, want that all is read", share)
	}
}
