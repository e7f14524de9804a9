package plugins

import (
	"time"

	"golang.org/x/sys/unix"
)

// readThreadClock reads it. It is a call of the kernel, and takes more time than many calls of guests.
func readThreadClock() threadClock {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return threadClock{}
	}
	return threadClock{thread: unix.Gettid(), worked: time.Duration(t.Nano())}
}
