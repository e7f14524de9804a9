package config

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// zoneList has the names of the time zone database 2025c that name a place, and UTC,
// one a line. It is for suggestions only: what counts is whether a zone can be loaded.
//
//go:embed zones.txt
var zoneList string

// loadZone finds a time zone by its IANA name, in the system's database or in one that
// the program brings along by importing time/tzdata.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is the time zone of the machine", name)
	}
	return time.LoadLocation(name)
}

func checkDateContext(r *report, p path, name string) {
	if name == "" || name == Off {
		return
	}
	if _, err := loadZone(name); err == nil {
		return
	}
	fix := "write an IANA name such as Europe/Berlin, UTC, or off"
	if r.src.find(p).origin == "" && !r.full() { // as for other suggestions
		if zone := nearestZone(name); zone != "" {
			fix = fmt.Sprintf("did you mean %q?", zone)
		}
	}
	r.add(p, "there is no time zone %s; %s", r.src.show(p, name), fix)
}

// nearestZone returns the zone that was probably meant, or "": one whose last part
// is the city that was written, else one with a similar name.
func nearestZone(name string) string {
	zones := strings.Fields(zoneList)
	city := strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], " ", "_")
	for _, zone := range zones {
		if strings.EqualFold(zone[strings.LastIndexByte(zone, '/')+1:], city) {
			return zone
		}
	}
	return yamldoc.Nearest(name, zones)
}
