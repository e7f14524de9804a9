package netaddr_test

import (
	"net/netip"
	"testing"

	"github.com/callgate/callgate/internal/netaddr"
)

func TestClient(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, tt := range []struct {
		what      string
		peer      string
		forwarded []string
		want      string // "" for no address
	}{
		{"nobody in between", "192.0.2.1", nil, "192.0.2.1"},
		{"a client that makes it up", "192.0.2.1", []string{"10.1.1.1"}, "192.0.2.1"},
		{"one proxy", "10.0.0.1", []string{"192.0.2.7"}, "192.0.2.7"},
		{"one proxy, and a client that makes it up", "10.0.0.1", []string{"198.51.100.9, 192.0.2.7"}, "192.0.2.7"},
		{"the same in lines of their own", "10.0.0.1", []string{"198.51.100.9", "192.0.2.7"}, "192.0.2.7"},
		{"two proxies", "10.0.0.1", []string{"192.0.2.7,10.0.0.2"}, "192.0.2.7"},
		{"nothing but proxies", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a proxy itself", "10.0.0.1", nil, "10.0.0.1"},
		{"a proxy by IPv4 in IPv6", "::ffff:10.0.0.1", []string{"::ffff:192.0.2.7"}, "192.0.2.7"},
		{"a port", "10.0.0.1", []string{"192.0.2.7:4711"}, "192.0.2.7"},
		{"IPv6", "2001:db8::1", []string{"2606:4700::1111"}, "2606:4700::1111"},
		{"IPv6 with a port", "2001:db8::1", []string{"[2606:4700::1111]:443"}, "2606:4700::1111"},
		{"IPv6 in brackets", "2001:db8::1", []string{"[2606:4700::1111]"}, "2606:4700::1111"},
		{"no address", "10.0.0.1", []string{"192.0.2.7, unknown"}, ""},
		{"nothing", "10.0.0.1", []string{""}, ""},
		{"an end without anything", "10.0.0.1", []string{"192.0.2.7,"}, ""},
	} {
		got := netaddr.Client(netip.MustParseAddr(tt.peer), tt.forwarded, trusted)
		if text := got.String(); got.IsValid() && text != tt.want || !got.IsValid() && tt.want != "" {
			t.Errorf("%s: got %q, want %q", tt.what, text, tt.want)
		}
	}
}
