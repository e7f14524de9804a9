package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// It is not parallel: it looks for goroutines that were left.
func TestContract(t *testing.T) {
	providertest.Run(t, providertest.OpenAI(), func(t *testing.T, s providertest.Settings) gateway.Provider {
		return mustNew(t, openai.Config{
			Name: "test", BaseURL: s.BaseURL, APIKey: s.Key,
			Timeouts: openai.Timeouts{Connect: s.Connect, FirstToken: s.FirstToken, Idle: s.Idle, Total: s.Total},
		})
	})
}

func mustNew(t *testing.T, c openai.Config) *openai.Provider {
	t.Helper()
	p, err := openai.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}
