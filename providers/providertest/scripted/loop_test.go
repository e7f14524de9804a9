package scripted_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// TestLoopNotices plays the loop with a provider that does nothing about the quirks
// of the vendors, and sees that the loop fails where they matter.
func TestLoopNotices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, server string
		stream       bool
		want         string // a part of the failure; empty for none
	}{
		{"OpenAI", "openai", true, ""},
		{"Moonshot", "moonshot", true, ""},
		{"Qwen's commas", "qwen", false, "must be in JSON format"},
		{"Qwen's stream", "qwen", true, "must be in JSON format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := openai.New(openai.Config{BaseURL: servers()[tt.server](t).URL, APIKey: scripted.Key})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.CloseIdleConnections)
			r := &recorder{TB: t}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				scripted.Loop{Provider: p, Model: "m", Stream: tt.stream}.Run(r)
			}()
			<-ended
			got := strings.Join(r.failures, "; ")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got failures %q, want %q", got, tt.want)
			}
		})
	}
}
