package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/callgate/callgate/sdk/abi"
)

// version is set by the Makefile.
var version = ""

type versionCmd struct{}

// Run prints the version of the binary, of the toolchain and of the plugin ABI.
func (versionCmd) Run(e *env) error {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	_, err := fmt.Fprintf(e.stdout, "callgate %s %s %s/%s plugin ABI %d\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH, abi.Version)
	return err
}
