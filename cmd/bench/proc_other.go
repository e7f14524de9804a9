//go:build !linux

package main

import (
	"math"
	"os/exec"
)

// Elsewhere than on Linux it is not known what another process uses.

func cpuTime(int) float64 { return math.NaN() }

func familyTime() float64 { return math.NaN() }

func busyTime() float64 { return math.NaN() }

func memory(int) (now, peak figure) { return none(), none() }

func shared(int) figure { return none() }

func forgetPeak(int) {}

func dieWithParent(*exec.Cmd) {}
