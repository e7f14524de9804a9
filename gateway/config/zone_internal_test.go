package config

import (
	"slices"
	"strings"
	"testing"
	_ "time/tzdata" // the tests do not depend on the system's database
)

// TestZones checks that every zone that may be suggested can be loaded.
func TestZones(t *testing.T) {
	t.Parallel()
	zones := strings.Fields(zoneList)
	if len(zones) < 400 || !slices.Contains(zones, "UTC") {
		t.Errorf("got %d zones, want several hundred and UTC", len(zones))
	}
	for _, zone := range zones {
		if location, err := loadZone(zone); err != nil || location.String() != zone {
			t.Errorf("%s: got %v, %v, want the zone", zone, location, err)
		}
	}
	for _, name := range []string{"", "Local", "Europe/Berln", "../UTC", "/etc/localtime", "UTC\x00", strings.Repeat("x", 1<<20)} {
		if location, err := loadZone(name); err == nil {
			t.Errorf("%.40q: got %v, want an error", name, location)
		}
	}
}

func TestNearestZone(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"Europe/Berln":    "Europe/Berlin",
		"europe/berlin":   "Europe/Berlin",
		"Berlin":          "Europe/Berlin",
		"Germany/Berlin":  "Europe/Berlin",
		"new york":        "America/New_York",
		"Asia/Tokio":      "Asia/Tokyo",
		"utc":             "UTC",
		"Middle-earth":    "",
		"+02:00":          "",
		"":                "",
		"Atlantis/Poseid": "",
	}
	for name, want := range tests {
		if got := nearestZone(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
