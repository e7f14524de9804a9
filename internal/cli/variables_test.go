package cli

import (
	"bytes"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// TestMisspeltVariables holds that a typo of a variable is told, and one of somebody's own is not.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	environ := []string{"CALLGATE_LISEN=a", "CALLGATE_LISTEN=b", "CALLGATE_CONFG=c", "CALLGATE_UPSTRAEM=d", "CALLGATE_ADMINKEY=", "CALLGATE_ADMIN_KEY_HASH=e",
		"CALLGATE_KEY_HASH=f", "CALLGATE_CACHE_SALT=g", "CALLGATE_PORT=tcp://10.0.0.1:80", "CALLGATE_ADMIN_PORT=tcp://10.0.0.2:80", "CALLGATE_KEY=h", "LISEN=i"}
	want := []slip{{"CALLGATE_LISEN", "CALLGATE_LISTEN"}, {"CALLGATE_CONFG", "CALLGATE_CONFIG"}, {"CALLGATE_UPSTRAEM", "CALLGATE_UPSTREAM"}}
	if got := misspelt(environ, variables()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMisspeltVariableIsLogged(t *testing.T) {
	t.Setenv("CALLGATE_LISEN", "127.0.0.1:9")
	var said bytes.Buffer
	warnOfVariables(slog.New(slog.NewTextHandler(&said, nil)))
	if !strings.Contains(said.String(), "variable=CALLGATE_LISEN did_you_mean=CALLGATE_LISTEN") {
		t.Errorf("got %q", said.String())
	}
}
