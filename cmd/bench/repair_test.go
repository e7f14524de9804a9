package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
)

// TestManners checks that the broken arguments say what the valid ones say.
func TestManners(t *testing.T) {
	t.Parallel()
	list := manners()
	for _, m := range list {
		for _, size := range []int{1 << 10, 64 << 10} {
			text := []byte(m.write(size))
			if n := len(text); n < size*8/10 || n > size*11/10 {
				t.Errorf("%s: %d bytes, want about %d", m.name, n, size)
			}
			if json.Valid(text) == m.broken {
				t.Errorf("%s: it is valid JSON: %t", m.name, json.Valid(text))
			}
			for _, piece := range []int{deltaSize, len(text)} {
				if err := m.reading(text, piece)(); err != nil {
					t.Errorf("%s in pieces of %d: %v", m.name, piece, err)
				}
			}
			m.broken = !m.broken
			if m.reading(text, len(text))() == nil {
				t.Errorf("%s: no error where the arguments are not what they should be", m.name)
			}
			m.broken = !m.broken
		}
	}
	type arguments struct {
		Edits []struct {
			Path, Text string
			Line       int
			All        bool
		} `json:"edits"`
	}
	var want, got arguments
	if err := json.Unmarshal([]byte(list[1].write(4<<10)), &want); err != nil {
		t.Fatal(err)
	}
	fixed, _, problem := repair.JSON([]byte(list[2].write(4<<10)), 0)
	if problem != nil {
		t.Fatal(problem)
	}
	if err := json.Unmarshal(fixed, &got); err != nil {
		t.Fatal(err)
	}
	if n := 20; !slices.Equal(got.Edits[:n], want.Edits[:n]) || want.Edits[0].Path != "src/file_1.go" || !want.Edits[0].All {
		t.Errorf("mended: got %v, want %v", got.Edits[:n], want.Edits[:n])
	}
}
