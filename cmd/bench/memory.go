package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// memoryClients is how many clients stream at once.
const memoryClients = 128

// memoryRows look at what a gateway needs by itself, for many clients, and for many open
// parsers.
func memoryRows(ctx context.Context, b *bench) ([]row, error) {
	rows := []row{
		{name: "resident memory, idle, MiB", peers: "SMG 51, vllm-router 73, Portkey 77, Bifrost 119, LiteLLM 338"},
		{name: fmt.Sprintf("its peak, %d streams, MiB", memoryClients), peers: "SMG 63, vllm-router 82, Portkey 201, LiteLLM 481"},
		{name: fmt.Sprintf("its peak, %d streams inside a call in text, MiB", memoryClients)},
		{name: "the same, of which parsers share pages that are counted once, MiB"},
	}
	lists := make([][]comparison, len(rows))
	for _, p := range b.programs {
		streams, err := b.memoryOf(ctx, p, modelClean)
		if err != nil {
			return nil, err
		}
		calls, err := b.memoryOf(ctx, p, modelSlow)
		if err != nil {
			return nil, err
		}
		for i, f := range []figure{streams.idle, streams.peak, calls.peak, calls.once} {
			lists[i] = append(lists[i], comparison{none(), f, none()})
		}
	}
	for i := range rows {
		rows[i].figures = compared(lists[i])
	}
	for i, limit := range []float64{60, 80, 160} {
		rows[i].target = upTo("", lists[i][0].value, limit, " MiB")
	}
	return rows, nil
}

// held is what a gateway has of memory in MiB: before and while clients stream, and then also
// with pages that several have counted once.
type held struct{ idle, peak, once figure }

// memoryOf measures a gateway of its own before and while all clients stream from a model.
func (b *bench) memoryOf(ctx context.Context, p *program, model string) (h held, err error) {
	mock, err := b.startMock(ctx)
	if err != nil {
		return h, err
	}
	defer mock.close()
	gateway, err := b.startReady(ctx, p, gatewayConfig(mock.address, ""))
	if err != nil {
		return h, err
	}
	defer gateway.close()
	pid := gateway.cmd.Process.Pid
	h.idle, _ = memory(pid)
	forgetPeak(pid) // it was starting
	load, err := newLoad(ctx, gateway.address, memoryClients, question{chatCompletions, request(model, true, 1<<10), true, expect(model, true)})
	if err != nil {
		return h, gateway.failed(err)
	}
	defer load.close()
	over := make(chan error, 1)
	go func() {
		_, err := load.run(ctx, b.time)
		over <- err
	}()
	for h.once = none(); ; {
		select {
		case err := <-over:
			_, h.peak = memory(pid)
			if err != nil {
				return h, gateway.failed(err)
			}
			return h, nil
		case <-time.After(b.time / 10):
			if now := shared(pid); math.IsNaN(float64(h.once)) || now > h.once {
				h.once = now
			}
		}
	}
}

// answerTime is how long a large answer may take.
const answerTime = time.Minute

// answerRows look at what one whole answer takes, as large as a gateway may be given, of
// the kind of text that takes most.
func answerRows(ctx context.Context, b *bench) ([]row, error) {
	var worst []comparison
	r := row{beyond: "3", peers: "whole process, 10 MB: Bifrost 277, Portkey 340, one-api 650"}
	for i, p := range b.programs {
		worst = append(worst, comparison{none(), none(), none()})
		var list []string
		for _, model := range slices.Sorted(maps.Keys(largeTexts)) {
			c, err := b.memoryOfAnswer(ctx, p, model)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", model, err)
			}
			done := ""
			if c.ratio.missing() {
				done = "more than "
			}
			list = append(list, fmt.Sprintf("%s %s%s", model, done, c.value/c.base))
			if math.IsNaN(float64(worst[i].ratio)) || c.ratio > worst[i].ratio {
				worst[i] = c
				if i == 0 {
					r.name = fmt.Sprintf("memory of one whole answer of %d MB, worst text (%s), MiB", b.large>>20, model)
				}
			}
		}
		r.note += fmt.Sprintf("%d MB, %s (more than: not answered within %v): %s.\n", b.large>>20, p.name, answerTime, strings.Join(list, ", "))
	}
	r.figures, r.target = compared(worst), upTo("", worst[0].ratio, 4, " ×")
	return []row{r}, nil
}

// memoryOfAnswer is what a gateway of its own needs for one large answer beside what it
// needs idle, compared with the answer's size: without bound if it is not done in time.
func (b *bench) memoryOfAnswer(ctx context.Context, p *program, model string) (comparison, error) {
	mock, err := b.startMock(ctx)
	if err != nil {
		return comparison{}, err
	}
	defer mock.close()
	gateway, err := b.startReady(ctx, p, gatewayConfig(mock.address, ""))
	if err != nil {
		return comparison{}, err
	}
	defer gateway.close()
	c, err := dial(ctx, gateway.address, question{speaks: chatCompletions, body: request(model, false, 1<<10)})
	if err != nil {
		return comparison{}, err
	}
	defer c.conn.Close()
	_ = c.conn.SetDeadline(time.Now().Add(answerTime)) // of a TCP connection
	idle, _ := memory(gateway.cmd.Process.Pid)
	size := figure(b.large) / (1 << 20)
	err = c.do()
	_, peak := memory(gateway.cmd.Process.Pid)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return comparison{size, peak - idle, figure(math.Inf(1))}, nil
	}
	if err != nil {
		return comparison{}, gateway.failed(err)
	}
	return comparison{size, peak - idle, (peak - idle) / size}, nil
}
