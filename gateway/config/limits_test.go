package config_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestLimitTwice holds that a limit which is in a list twice is told with the place of the first one, also where
// a limit that is wrong stands in front of both.
func TestLimitTwice(t *testing.T) {
	t.Parallel()
	for _, front := range []string{"{requests: 60}", "{requests: x, per: 1m}", "{}", "60"} {
		_, err := config.Parse("callgate.yaml", []byte("providers: {local: {type: demo}}\nkey_limits:\n  - "+front+"\n  - {tokens: 5, per: 1m}\n  - {tokens: 6, per: 1m}\n"), nil)
		if err == nil || !strings.Contains(err.Error(), "key_limits[2]: it counts the same as number 1 of the list") {
			t.Errorf("%s: got %v", front, err)
		}
	}
}
