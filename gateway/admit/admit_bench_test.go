package admit_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/internal/redistest"
)

// inner answers at once, and tells the meter what an attempt would.
type inner struct{}

func (inner) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	if m := gateway.MeterOf(ctx); m != nil {
		_ = m.Begin("up", "real", gateway.ForAnswer, len(req.Body.Bytes()))
		m.Came(100)
		m.Ended(gateway.Use{Provider: "up", Model: "real", Purpose: gateway.ForAnswer, Complete: true, Usage: gateway.Usage{Reported: true, Input: 20, Output: 30}, Status: "ok"})
	}
	return &gateway.Response{Reply: nothing{}, Summary: &gateway.Summary{}}, nil
}

func (i inner) Relay(ctx context.Context, req *gateway.Request, _ *gateway.Relay, _ bool) (*gateway.Response, error) {
	return i.Chat(ctx, req)
}

func (i inner) Passthrough(ctx context.Context, _ string, req *gateway.Request, _ *gateway.Relay) (*gateway.Response, error) {
	return i.Chat(ctx, req)
}

type nothing struct{}

func (nothing) Header() http.Header           { return nil }
func (nothing) Streamed() bool                { return true }
func (nothing) Next() (*gateway.Frame, error) { return nil, io.EOF }
func (nothing) Close() error                  { return nil }

type prices struct{}

func (prices) Price(_, _ string, u gateway.Usage) (int64, bool, string) {
	return int64(u.Input)*1000 + int64(u.Output)*3000, true, "v"
}

func (prices) Rates(_, _ string, _ int) (r usage.Rates, priced, output bool) {
	return usage.Rates{Input: 1e6, Output: 3e6}, true, true
}

type records struct{ rows int }

func (r *records) Record(billing.Row) { r.rows++ }
func (*records) Begin(billing.Row)    {}
func (*records) Forget(string)        {}
func (*records) Keeps() bool          { return false }

func rules() admit.Rules {
	own := []admit.Rule{{Limit: limit.Limit{Kind: limit.Requests, Max: 1e9, Per: time.Second}}, {Limit: limit.Limit{Kind: limit.Tokens, Max: 1e9, Per: time.Second}},
		{Limit: limit.Limit{Kind: limit.Concurrency, Max: 1000}}, {Limit: limit.Limit{Kind: limit.Money, Max: limit.MaxAmount, Window: limit.Month}}}
	return admit.Rules{Others: own, Teams: map[string][]admit.Rule{"red": own[1:]}}
}

// run passes a request through a gate.
func run(tb testing.TB, g *admit.Gate, body []byte) {
	req, err := gateway.ParseRequest(body)
	if err != nil {
		tb.Fatal(err)
	}
	req.From.Client = &gateway.Client{Key: "alice", Team: "red"}
	resp, err := g.Chat(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	_, _ = resp.Next()
	_ = resp.Close()
}

var body = []byte(`{"model":"m","messages":[{"role":"user","content":"What is the weather in Oslo today, and tomorrow?"}],"max_tokens":100}`)

// BenchmarkAdmit is what seven limits and a row of usage cost a request, beside its parsing, which none shows.
func BenchmarkAdmit(b *testing.B) {
	bench := func(b *testing.B, l limit.Limiter, rules admit.Rules) {
		table, err := admit.NewTable(rules, func(string) string { return "" })
		if err != nil {
			b.Fatal(err)
		}
		state := admit.NewState(l, nil)
		defer state.Close()
		g := admit.New(admit.Options{Inner: inner{}, Limits: table.Of, Prices: prices{}, Records: &records{}, State: state,
			Targets: func(*gateway.Request, string) []admit.Target { return []admit.Target{{Provider: "up", Model: "real"}} }})
		for b.Loop() {
			run(b, g, body)
		}
	}
	b.Run("none", func(b *testing.B) {
		g := admit.New(admit.Options{Inner: inner{}, Limits: (*admit.Table)(nil).Of})
		for b.Loop() {
			run(b, g, body)
		}
	})
	b.Run("memory", func(b *testing.B) { bench(b, limit.NewMemory(nil), rules()) })
	shared := func(b *testing.B, rules admit.Rules, limiter func(*redis.Client) limit.Limiter) {
		s := redistest.Start(b)
		c, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		before := told(b, s.URL())
		bench(b, limiter(c), rules)
		after := told(b, s.URL())
		n := float64(b.N)
		b.ReportMetric((after["total_commands_processed"]-before["total_commands_processed"])/n, "commands/op")
		b.ReportMetric((after["total_net_input_bytes"]-before["total_net_input_bytes"])/n, "B-in/op")
		b.ReportMetric((after["total_net_output_bytes"]-before["total_net_output_bytes"])/n, "B-out/op")
		b.ReportMetric(1e6*(after["used_cpu_user"]+after["used_cpu_sys"]-before["used_cpu_user"]-before["used_cpu_sys"])/n, "redis-cpu-µs/op")
	}
	ahead := func(c *redis.Client) limit.Limiter { return limit.NewAway(limit.NewShared(c, nil), true, nil) }
	alone := func(c *redis.Client) limit.Limiter { return limit.NewShared(c, nil) }
	b.Run("redis", func(b *testing.B) { shared(b, rules(), ahead) })
	b.Run("redis, asked for each", func(b *testing.B) { shared(b, rules(), alone) })
	b.Run("redis, asked for each, three limits", func(b *testing.B) { shared(b, admit.Rules{Others: rules().Others[:3]}, alone) })
	b.Run("redis, asked for each, one limit", func(b *testing.B) { shared(b, admit.Rules{Others: rules().Others[:1]}, alone) })
}

// told is what a Redis says of itself. Its scripts' own commands are among those that it counts.
func told(tb testing.TB, url string) map[string]float64 {
	tb.Helper()
	o, err := goredis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	c := goredis.NewClient(o)
	defer c.Close()
	text, err := c.Info(tb.Context()).Result()
	if err != nil {
		tb.Fatal(err)
	}
	facts := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			facts[name] = n
		}
	}
	return facts
}
