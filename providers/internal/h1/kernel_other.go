//go:build !linux

package h1

import "net"

// Acknowledged knows nothing here: a request that has failed on a kept connection is not sent again.
func Acknowledged(net.Conn) (n int64, ended, ok bool) { return 0, false, false }
