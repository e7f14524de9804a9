package upstream

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Defaults of Timeouts.
const (
	DefaultConnect    = 5 * time.Second
	DefaultFirstToken = 60 * time.Second
	DefaultIdle       = 60 * time.Second
	DefaultComments   = 5 * time.Minute
	DefaultWhole      = 5 * time.Minute
	DefaultTotal      = 10 * time.Minute
)

// Timeouts are the timers of one request. Zero means the default. The one that
// runs out is named in the error.
type Timeouts struct {
	// Connect is how long a TCP connection, and then its TLS handshake, may take.
	// With a Transport of one's own it is that transport's matter.
	Connect time.Duration
	// FirstToken is how long a streamed request may wait for its first chunk.
	FirstToken time.Duration
	// Idle is how long a stream may pause. The time in which nobody asks for the
	// next chunk does not count.
	Idle time.Duration
	// Comments is how long a stream may go on with comments alone, behind its first chunk.
	Comments time.Duration
	// Whole is how long an answer that is no stream may take; zero means half of
	// Total, and at least DefaultWhole.
	Whole time.Duration
	// Total is how long a request may take altogether.
	Total time.Duration
}

// withDefaults has the defaults in the place of zeros. The error names the timer that is negative.
func (t Timeouts) withDefaults() (Timeouts, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"connect", &t.Connect, DefaultConnect},
		{"first_token", &t.FirstToken, DefaultFirstToken},
		{"idle", &t.Idle, DefaultIdle},
		{"comments", &t.Comments, DefaultComments},
		{"total", &t.Total, DefaultTotal},
		{"whole", &t.Whole, max(cmp.Or(t.Total, DefaultTotal)/2, DefaultWhole)},
	} {
		if *f.value < 0 {
			return t, fmt.Errorf("timeouts.%s: %v is negative", f.name, *f.value)
		}
		*f.value = cmp.Or(*f.value, f.or)
	}
	return t, nil
}

// Plain writes a duration as people do: 60s, not 1m0s; 10m, not 10m0s.
func Plain(d time.Duration) string {
	if d < 2*time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
