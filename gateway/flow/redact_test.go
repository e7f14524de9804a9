package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// talker is an upstream that quotes the gateway's key in its errors.
type talker struct{ *scripted }

const talkersKey = "sk-canary-of-the-gateway"

// Redact implements gateway.Redactor.
func (talker) Redact(s string) string { return strings.ReplaceAll(s, talkersKey, "[redacted]") }

// TestInBandErrorsKeepTheKey holds that an error in the place of an answer, or in the
// middle of one, tells neither the client nor the log the gateway's own key, and tells
// the log nothing of what the upstream says.
func TestInBandErrorsKeepTheKey(t *testing.T) {
	t.Parallel()
	inBand := func(code int) string {
		return fmt.Sprintf(`{"error":{"message":"Incorrect API key provided: %s, in my private prompt","code":%d}}`, talkersKey, code)
	}
	for _, code := range []int{400, 401, 429, 500} {
		for _, before := range [][]string{nil, {delta("Hello")}} {
			t.Run(fmt.Sprintf("%d behind %d frames", code, len(before)), func(t *testing.T) {
				t.Parallel()
				p := talker{&scripted{blocks: append(append([]string{}, before...), "data: "+inBand(code), "data: [DONE]")}}
				target := repair
				target.Parsers.Names = nil
				out, _, err := exchange(t, p, target, request)
				var e *gateway.Error
				if errors.As(err, &e) != (before == nil) {
					t.Fatalf("got %v behind %s", err, out)
				}
				if e != nil {
					out += e.Message + string(e.Body) + e.Error()
					if strings.Contains(e.Error(), "private prompt") {
						t.Errorf("got the upstream's words for the log: %s", e.Error())
					}
				}
				if strings.Contains(out, talkersKey) {
					t.Errorf("got the key: %s", out)
				}
			})
		}
	}
}
