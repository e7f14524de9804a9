package plugins

import "golang.org/x/sys/unix"

// limitProcess bounds what this process, which compiles a plugin, may use, and has it stand
// back behind what serves requests. The memory is all that it may write to: address space
// alone says nothing, of which Go's runtime reserves a lot.
func limitProcess(memory, seconds int) error {
	for resource, limit := range map[int]uint64{
		unix.RLIMIT_DATA:  uint64(memory),
		unix.RLIMIT_CPU:   uint64(max(seconds, 1)) * 4, // of all threads: the host's own timer comes before
		unix.RLIMIT_FSIZE: uint64(memory),
		unix.RLIMIT_CORE:  0,
	} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return unix.Setpriority(unix.PRIO_PROCESS, 0, 10)
}
