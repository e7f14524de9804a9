package netaddr_test

import (
	"testing"

	"github.com/callgate/callgate/internal/netaddr"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		host                       string
		listener, header, registry bool
	}{
		{"127.0.0.1", true, true, true},
		{"127.255.0.7", true, true, true},
		{"::1", true, true, true},
		{"::ffff:127.0.0.1", true, true, true},
		{"localhost", true, true, true},

		// A listener's host has neither port nor brackets.
		{"127.0.0.1:8080", false, true, true},
		{"localhost:8080", false, true, true},
		{"[::1]:8080", false, true, true},
		{"[::1]", false, true, true},

		// Only a browser resolves these to this machine for certain.
		{"LocalHost", false, true, false},
		{"localhost.", false, true, false},
		{"app.localhost:8080", false, true, false},

		{"", false, false, false}, // a listener's every address
		{"0.0.0.0", false, false, false},
		{"::", false, false, false},
		{"10.0.0.1", false, false, false},
		{"[::ffff:10.0.0.1]:80", false, false, false},
		{"example.com", false, false, false},
		{"example.com:127", false, false, false},
		{"127.0.0.1.example.com", false, false, false},
		{"localhost.example.com", false, false, false},
		{"notlocalhost", false, false, false},
		{"127.1", false, false, false},
		{"0x7f000001", false, false, false},
		{"2130706433", false, false, false},
		{"localhost:80:80", false, false, false},
		{"127.0.0.1, 10.0.0.1", false, false, false},
	} {
		for name, got := range map[string][2]bool{
			"listener": {netaddr.LoopbackListener(tt.host), tt.listener},
			"header":   {netaddr.LoopbackHeader(tt.host), tt.header},
			"registry": {netaddr.LoopbackRegistry(tt.host), tt.registry},
		} {
			if got[0] != got[1] {
				t.Errorf("%q as a %s: got %v, want %v", tt.host, name, got[0], got[1])
			}
		}
	}
}
