package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/callgate/callgate/sdk/abi"
)

// version is set by the Makefile.
var version = ""

// programVersion is the version of the binary: the Makefile's, or what the toolchain has
// noted of the module; "" for neither.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}

type versionCmd struct{}

// Run prints the version of the binary, of the toolchain and of the plugin ABI.
func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintf(e.stdout, "callgate %s %s %s/%s plugin ABI %d\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH, abi.Version)
	return err
}
