package cli

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
)

// The budget for requests in progress where the configuration names none. The collector lets the
// heap grow to twice of what is live, so a quarter of the memory becomes a half of it; with a
// limit on the heap it works harder instead.
const (
	shareOfMemory = 4
	shareOfLimit  = 2
	memoryUnknown = 1 << 30 // where nobody knows how much there is
)

// memoryBudget is how many bytes all requests in progress may take.
func memoryBudget(l config.Limits) int64 {
	if l.Memory > 0 {
		return int64(l.Memory)
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return max(limit/shareOfLimit, 1)
	}
	memory := uint64(math.MaxInt64)
	for _, read := range []func() (uint64, error){memlimit.FromCgroup, memlimit.FromSystem} {
		if n, err := read(); err == nil && n > 0 {
			memory = min(memory, n)
		}
	}
	if memory == math.MaxInt64 {
		return memoryUnknown
	}
	return max(int64(memory/shareOfMemory), 1)
}

// memoryDoubt says that the requests in progress may take more than the process can hold, where the
// configuration lets them; "" if that is not so.
func memoryDoubt(l config.Limits) string {
	own := l
	own.Memory = 0
	most := memoryBudget(own)
	if l.Memory == 0 || int64(l.Memory) <= most {
		return ""
	}
	if debug.SetMemoryLimit(-1) < math.MaxInt64 {
		return fmt.Sprintf("limits.memory is %d bytes, more than half of GOMEMLIMIT: the process may need twice what requests do; set GOMEMLIMIT to twice limits.memory", l.Memory)
	}
	return fmt.Sprintf("limits.memory is %d bytes, more than a quarter of the memory that there is: set GOMEMLIMIT to twice limits.memory, and let the process have more than that", l.Memory)
}

// uploadBudget is how many bytes all uploads in progress may have in temporary files.
func uploadBudget(l config.Limits) int64 {
	const shares = 10
	if l.Uploads > 0 {
		return int64(l.Uploads)
	}
	return shares * int64(l.Upload)
}

// requestLimits are the limits on what a request is made of.
func requestLimits(l config.Limits) gateway.Limits {
	return gateway.Limits{
		Values: l.Values, Messages: l.Messages, Calls: l.Calls, Tools: l.Tools.Count, ToolBytes: int(l.Tools.Size),
		ToolDepth: l.Tools.Depth, Properties: l.Tools.Properties,
	}
}
