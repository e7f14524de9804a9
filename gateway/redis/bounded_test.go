package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/redistest"
)

// TestGetUpTo holds that no more of a value is read than the caller wants.
func TestGetUpTo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	key := c.Key("k")
	for value, want := range map[string]string{
		"": "", "a\x00\r\n": "a\x00\r\n", "12345678": "12345678", "123456789": "12345678", strings.Repeat("x", 1<<20): "xxxxxxxx",
	} {
		if err := c.Set(t.Context(), key, []byte(value), time.Minute); err != nil {
			t.Fatal(err)
		}
		got, found, err := c.GetUpTo(t.Context(), key, 8)
		if string(got) != want || found != (want != "") || err != nil {
			t.Errorf("%.20q: got %q, %v, error %v, want %q", value, got, found, err, want)
		}
	}
	if got, found, err := c.GetUpTo(t.Context(), c.Key("none"), 8); len(got) > 0 || found || err != nil {
		t.Errorf("got %q, %v, error %v for a key that is not there", got, found, err)
	}
}
