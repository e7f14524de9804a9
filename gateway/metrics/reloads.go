package metrics

import (
	"maps"
	"slices"
	"time"
)

// Reloads says how the configuration was read, at the start and since.
type Reloads struct {
	// SHA256 is the hash of the file that is in force, as sha256sum prints it.
	SHA256 string
	// Good says that the file was good when it was read last, and At when one that is in force was
	// read.
	Good bool
	At   time.Time
	// Outcomes are how many readings ended how.
	Outcomes map[string]uint64
	// Restart says that the file has keys which the process takes at its next start only.
	Restart bool
	// Draining is how many earlier configurations still have requests.
	Draining int
}

func (c *collected) reloads(o Options) {
	c.add(o.Reloads != nil, nil, func(set setter) {
		r := o.Reloads()
		set("callgate_config_last_reload_success", "Whether the configuration was good when it was last read: 1, or 0 while an earlier one is in force.",
			number(r.Good))
		set("callgate_config_last_reload_success_timestamp_seconds", "When the configuration that is in force was read.",
			float64(r.At.UnixMilli())/1000)
		set("callgate_config_restart_needed", "Whether the file has keys that are read at the start only, and were changed since: 1 or 0.",
			number(r.Restart))
		set("callgate_config_draining", "Earlier configurations that still have requests.", float64(r.Draining))
	})
	c.add(o.Reloads != nil, []string{"outcome"}, func(set setter) {
		r := o.Reloads()
		for _, outcome := range slices.Sorted(maps.Keys(r.Outcomes)) {
			set("callgate_config_reloads_total", "Readings of the configuration since the start: applied, unchanged or refused.",
				float64(r.Outcomes[outcome]), outcome)
		}
	})
	c.add(o.Reloads != nil, []string{"sha256"}, func(set setter) {
		set("callgate_config_info", "Always 1; the label is the SHA-256 of the configuration file that is in force.", 1, o.Reloads().SHA256)
	})
}
