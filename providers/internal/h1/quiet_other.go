//go:build !unix

package h1

import "net"

// Supported says that the system tells whether a kept connection was closed.
const Supported = false

type quiet struct{}

func newQuiet(net.Conn) *quiet { return &quiet{} }

func (*quiet) now() bool { return false }
