package telemetry_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

func TestErrorType(t *testing.T) {
	t.Parallel()
	broken := &gateway.Summary{Outcome: gateway.Outcome{UpstreamError: true}}
	limited := &gateway.Summary{Outcome: gateway.Outcome{UpstreamError: true}, Attempts: []gateway.Attempt{{Outcome: "upstream_error"}, {Outcome: "upstream_rate_limited"}}}
	for _, row := range []struct {
		name   string
		record gateway.Record
		want   string
	}{
		{"answered", gateway.Record{Status: 200, Summary: &gateway.Summary{}}, ""},
		{"code", gateway.Record{Status: 502, Code: "upstream_error"}, "upstream_error"},
		{"status alone", gateway.Record{Status: 404}, "404"},
		{"code before status", gateway.Record{Status: 499, Code: "client_closed_request", Summary: broken}, "client_closed_request"},
		{"stream that ended with an error", gateway.Record{Status: 200, Summary: broken}, "upstream_error"},
		{"stream that ended with a limit", gateway.Record{Status: 200, Summary: limited}, "upstream_rate_limited"},
		{"nothing known", gateway.Record{}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := telemetry.ErrorType(&row.record); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short", "qwen3", 10, "qwen3"},
		{"just fits", "qwen3", 5, "qwen3"},
		{"cut", "qwen3", 4, "qwen"},
		{"cut between runes", "aé", 2, "a"},
		{"cut before four bytes", "a\U0001F600b", 4, "a"},
		{"not UTF-8", "a\xffb", 10, "a?b"},
		{"continuation bytes alone", strings.Repeat("\x80", 20), 10, "?"},
		{"no rune before the cut", "\x80\x80", 1, ""},
		{"empty", "", 10, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := telemetry.Text(row.text, row.limit); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("qwen3\xff\xe2\x82", 7)
	f.Add("\x8c\x8c", 0)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 1 + limit&0xff
		got := telemetry.Text(s, limit)
		if !utf8.ValidString(got) || len(got) > limit {
			t.Errorf("got %q of %q at %d", got, s, limit)
		}
		if len(s) <= limit && utf8.ValidString(s) && got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	})
}
