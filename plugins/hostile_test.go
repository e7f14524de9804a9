package plugins_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// TestHostileGuest has guests do harm, some of them without end: each of them is ended, and
// it is said why.
func TestHostileGuest(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1000})
	load(t, h, "good", goGuest(t))
	for _, tt := range HostileGuests() {
		t.Run(tt.Name, func(t *testing.T) {
			guest := tt.Guest
			guest.Manifest = Manifest("hostile")
			load(t, h, "hostile", guest.Wasm())
			for range 2 { // the second time with the next instance
				_, err := feed(t, h, "hostile", LongText)
				if got := kindOf(err); !oneOf(got, plugins.ErrorKind(tt.Want)) {
					t.Errorf("got %q (%v), want %q", got, err, tt.Want)
				}
			}
			works(t, h)
		})
	}
}

func oneOf(got, want plugins.ErrorKind) bool {
	return slices.Contains(strings.Split(string(want), " "), string(got))
}

func TestHostileGoGuest(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1000})
	load(t, h, "hostile", goGuest(t))
	load(t, h, "good", Guest{Events: []abi.Event{{Kind: abi.Content, Text: "good"}}}.Wasm())
	for _, tt := range Commands() {
		t.Run(tt.Name, func(t *testing.T) {
			got, err := feed(t, h, "go", "!"+tt.Name)
			if kind := kindOf(err); !oneOf(kind, plugins.ErrorKind(tt.Want)) || got != tt.Content {
				t.Errorf("got %q, %q (%v), want %q, %q", got, kind, err, tt.Content, tt.Want)
			}
			works(t, h)
			if got, err := feed(t, h, "hand", "x"); got != "good" || err != nil {
				t.Errorf("the other plugin: %q, %v", got, err)
			}
		})
	}
}
