//go:build race

package wire

const poison = true
