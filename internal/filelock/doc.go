// Package filelock locks files between processes: those of the usage journal, and those of tool servers' tokens. A lock
// ends with its process, where the system has such locks.
package filelock
