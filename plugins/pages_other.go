//go:build !linux

package plugins

import "errors"

// reserve returns no memory: here a memory is a slice that is copied when it
// grows.
func reserve(int) ([]byte, error) { return nil, nil }

func release([]byte) {}

// sharedPages are not available here, so that images are copied.
type sharedPages struct{}

func newSharedPages([]byte) (*sharedPages, error) { return nil, errors.ErrUnsupported }

func (*sharedPages) mapOver([]byte) error { return errors.ErrUnsupported }

func (*sharedPages) undo([]byte, *ownPages) error { return errors.ErrUnsupported }

// ownPages are not known here.
type ownPages struct{}

func (*ownPages) begin() {}

func (*sharedPages) close() {}
