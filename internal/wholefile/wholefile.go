// Package wholefile writes files of which nobody sees half.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file, in the place of one that is there, and makes its directory if need be.
func Write(file string, b []byte, directory, mode fs.FileMode) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, directory); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".callgate-*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
