package demo

import (
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/sdk/relaxed"
)

// jsonValue draws a JSON value as encoding/json makes it.
func jsonValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth > 0 {
			kinds = 7
		}
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z'"\\{}\[\]:, \n]{0,9}`))
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Float64Range(-1e20, 1e20).Draw(t, "number")
		case 5:
			return rapid.SliceOfN(jsonValue(depth-1), 0, 3).Draw(t, "array")
		case 6:
			return rapid.MapOfN(text, jsonValue(depth-1), 0, 3).Draw(t, "object")
		}
		return text.Draw(t, "text")
	})
}

// TestBrokenHasOneMeaning checks that what broken writes is no JSON, and that the
// relaxed reader finds the same value in it.
func TestBrokenHasOneMeaning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(rapid.String(), jsonValue(3), 1, 4).Draw(t, "object")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		spoilt := broken(string(text))
		if json.Valid([]byte(spoilt)) {
			t.Fatalf("%s: got %s, which is valid", text, spoilt)
		}
		r := relaxed.NewReader(0)
		for src := []byte(spoilt); len(src) > 0; {
			n, token := r.Feed(src)
			if src = src[n:]; token == relaxed.Bad {
				t.Fatalf("%s: got %s, which cannot be read at %q", text, spoilt, src)
			}
		}
		var want, got any
		if json.Unmarshal(text, &want) != nil || json.Unmarshal(r.Out, &got) != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %s, which reads as %s", text, spoilt, r.Out)
		}
	})
}

func TestMisspelt(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"get_weather":   {"GetWeather", "get-weather"},
		"getWeather":    {"GetWeather", "get-weather"},
		"GetWeather":    {"get-weather", "get-weather"},
		"get-weather":   {"GetWeather", "GetWeather"},
		"files.Read_2":  {"FilesRead2", "files-read-2"},
		"search":        {"Search", "Search"},
		"wetter_ändern": {"WetterÄndern", "wetter-ändern"},
		"_":             {"_", "_"},
		"":              {"", ""},
	} {
		if got := [2]string{misspelt(name, 0), misspelt(name, 1)}; got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestMemoryIsBounded checks that the oldest request is forgotten when there are too
// many, and all of them in time.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m memory
	now := time.Unix(0, 0)
	body := func(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }
	for i := range 3 * maxLimited {
		if !m.first(body(i), now) {
			t.Fatalf("request %d: got a repetition, want it to be the first", i)
		}
	}
	if len(m.limited) != maxLimited || len(m.order) != maxLimited {
		t.Errorf("got %d and %d requests, want %d", len(m.limited), len(m.order), maxLimited)
	}
	if last := body(3*maxLimited - 1); m.first(last, now) || !m.first(body(0), now) {
		t.Error("the last request is forgotten or the first is not, want it the other way round")
	}
	if !m.first(body(0), now.Add(limitWindow)) || len(m.limited) != 1 || len(m.order) != 1 {
		t.Errorf("got %d and %d requests behind the window, want one", len(m.limited), len(m.order))
	}
}

// TestMemoryIsShared asks from many goroutines: of the same request one is the
// first, and of all requests half are odd.
func TestMemoryIsShared(t *testing.T) {
	t.Parallel()
	const n = 100
	var (
		m          memory
		mu         sync.Mutex
		first, odd int
		all        sync.WaitGroup
	)
	now := time.Now()
	for range n {
		all.Go(func() {
			isFirst, isOdd := m.first([]byte("same"), now), m.odd()
			mu.Lock()
			defer mu.Unlock()
			if isFirst {
				first++
			}
			if isOdd {
				odd++
			}
		})
	}
	all.Wait()
	if first != 1 || odd != n/2 {
		t.Errorf("got %d first and %d odd requests, want 1 and %d", first, odd, n/2)
	}
}

func TestSplitIsBounded(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("ä", 1_000_000)
	for _, runes := range []int{0, 1, 7} {
		pieces := split(text, runes)
		if got := strings.Join(pieces, ""); got != text || len(pieces) > maxPieces+1 {
			t.Errorf("%d runes: got %d pieces of %d bytes, want at most %d of %d", runes, len(pieces), len(got), maxPieces+1, len(text))
		}
	}
}
