// Package examples holds plugins to begin with: a parser with its tests in Go (starter), one
// of two lines (tagged), and the same parser in four languages (lines-…), which this
// package's tests build and hold to the same cases.
package examples
