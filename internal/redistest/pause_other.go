//go:build !unix

package redistest

import "errors"

// Pause cannot be had here.
func (p *Process) Pause() error { return errors.ErrUnsupported }

// Resume cannot be had here.
func (p *Process) Resume() error { return errors.ErrUnsupported }
