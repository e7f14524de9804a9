package fallback_test

import (
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/fallback"
)

func TestFallback(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"":                  "end 0\n",
		"<tool_call> é\n{}": "content \"<tool_call> é\\n{}\"\nend 17\n",
	} {
		for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
			got := sdktest.Format(sdktest.Stable(t, fallback.Fallback(), sdk.Options{}, input, reason))
			if got != want {
				t.Errorf("%q gives %q, want %q", input, got, want)
			}
		}
	}
}
