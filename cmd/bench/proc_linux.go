package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// cpuTime is the time in seconds that a process has used of all CPUs, by its own
// clock, which counts nanoseconds where /proc counts hundredths of a second.
func cpuTime(pid int) float64 {
	const schedClock = 2 // CPUCLOCK_SCHED, as clock_getcpuclockid(3) makes it
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &t); err != nil {
		return math.NaN()
	}
	return float64(t.Nano()) / 1e9
}

// familyTime is the time in seconds that this process and its children have used.
// Children that run are counted only when they have ended.
func familyTime() float64 {
	total := 0.0
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if unix.Getrusage(who, &u) != nil {
			return math.NaN()
		}
		total += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	return total
}

// busyTime is the time in seconds that all CPUs together were not idle.
func busyTime() float64 {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return math.NaN()
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	total := 0.0
	for i, f := range fields {
		if ticks, err := strconv.ParseFloat(f, 64); err == nil && i != 4 && i != 5 && i <= 8 { // idle, iowait; guests count twice
			total += ticks / 100
		}
	}
	return total
}

// memory gives the resident memory of a process in MiB: now, and its peak.
func memory(pid int) (now, peak figure) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	return mebibytes(status, "VmRSS"), mebibytes(status, "VmHWM")
}

// shared is how much a process has, in MiB, of which a page counts as much as its part of the
// processes and of the places where it is.
func shared(pid int) figure { return mebibytes(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss") }

// forgetPeak makes what a process has now its peak.
func forgetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // without it the peak is that of the start
}

// mebibytes reads a number of KiB from a file of names and values.
func mebibytes(file, name string) figure {
	text, _ := os.ReadFile(file) // without it nothing is found
	for line := range strings.Lines(string(text)) {
		value, found := strings.CutPrefix(line, name+":")
		if kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64); found && err == nil {
			return figure(kib / 1024)
		}
	}
	return none()
}

// dieWithParent makes a process end with this one, even if this one is killed.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
