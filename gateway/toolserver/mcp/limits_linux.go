package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// What stands in front of the command in a guard's arguments: limits that the guard is to have the command started
// under, and, in a process of its own between the two, limits that this one takes on before it becomes the command.
// So what the command starts has them too, and nobody runs without them for a moment.
const (
	limitsOf  = "--limits="
	limitedTo = "--limited="
)

// limiting are the arguments for limits, nil for none.
func limiting(l Limits) []string {
	if l == (Limits{}) {
		return nil
	}
	return []string{fmt.Sprintf("%s%d,%d,%d", limitsOf, l.Memory, uint64(l.CPU.Seconds()), l.Files)}
}

// limitedCommand is the command behind a guard's limits as the program that takes them on first.
func limitedCommand(command []string) []string {
	limits := strings.TrimPrefix(command[0], limitsOf)
	own := os.Args[1 : len(os.Args)-len(command)]
	return append(append([]string{"/proc/self/exe"}, own...), append([]string{limitedTo + limits}, command[1:]...)...)
}

// becomeLimited takes limits on and becomes the command behind them. It returns, with the status to end with, only
// where that fails.
func becomeLimited(command []string) int {
	values := strings.Split(strings.TrimPrefix(command[0], limitedTo), ",")
	command = command[1:]
	if len(command) == 0 {
		return 2
	}
	program, err := exec.LookPath(command[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	for i, kind := range []int{syscall.RLIMIT_DATA, syscall.RLIMIT_CPU, syscall.RLIMIT_NOFILE} {
		if i >= len(values) {
			return 2
		}
		n, err := strconv.ParseUint(values[i], 10, 64)
		if err != nil {
			return 2
		}
		if n == 0 {
			continue
		}
		if err := syscall.Setrlimit(kind, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			fmt.Fprintf(os.Stderr, "the limit of the process cannot be set: %v\n", err)
			return 2
		}
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(program, command, os.Environ())) //nolint:gosec // the gateway's own arguments
	return 127
}
