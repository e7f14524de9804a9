package main

import (
	"context"
	"fmt"
	"time"
)

// memoryClients is how many clients stream at once.
const memoryClients = 128

// measureMemory looks at what many clients need, and many open parsers.
func measureMemory(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title:   "resident memory of the gateway, from its start with compiled parsers",
		Columns: []column{{"MiB", "idle"}, {"MiB", "peak"}, {"MiB", "peak, shared pages once"}},
		Note: fmt.Sprintf("Inside a tool call each stream takes %v, so that all of them have a parser open at the same time.\n"+
			"The instances of a parser share pages, which the system counts once for each instance (RSS), and last once (PSS).", (chunks+2)*slowPause),
	}
	for _, scenario := range []struct{ name, model string }{
		{"%d clients stream", modelClean},
		{"%d clients stream inside a tool call", modelSlow},
	} {
		figures, err := b.memoryOf(ctx, scenario.model)
		if err != nil {
			return nil, err
		}
		r := row{name: fmt.Sprintf(scenario.name, memoryClients), figures: figures}
		if scenario.model == modelClean {
			r.target = below("peak", figures[1], 100, " MiB")
		}
		t.Rows = append(t.Rows, r)
	}
	if t.Rows[0].target.value.missing() {
		t.Note += " Memory is measured on Linux only."
	}
	return t, nil
}

// memoryOf measures a gateway of its own while all clients stream from a model.
func (b *bench) memoryOf(ctx context.Context, model string) ([]figure, error) {
	mock, err := startSelf(ctx, mockCommand)
	if err != nil {
		return nil, err
	}
	defer mock.close()
	gateway, err := b.startReady(ctx, gatewayConfig(mock.address, "repair"))
	if err != nil {
		return nil, err
	}
	defer gateway.close()
	pid := gateway.cmd.Process.Pid
	idle, _ := memory(pid)
	load, err := newLoad(ctx, gateway.address, memoryClients, request(model, true, 1<<10), true, expect(model, true))
	if err != nil {
		return nil, gateway.failed(err)
	}
	defer load.close()
	shares := watchShare(pid)
	_, err = load.run(ctx, b.time)
	share := shares()
	if err != nil {
		return nil, gateway.failed(err)
	}
	_, peak := memory(pid)
	return []figure{figure(idle), figure(peak), figure(share)}, nil
}

// watchShare looks at a process's proportional share of memory until the function
// that it returns is called, which gives the largest.
func watchShare(pid int) func() float64 {
	stop, most := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		peak := memoryShare(pid)
		for {
			select {
			case <-tick.C:
				peak = max(peak, memoryShare(pid))
			case <-stop:
				most <- peak
				return
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-most
	}
}
