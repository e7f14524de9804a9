// Package resident keeps small what a process has in memory.
package resident
