package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script that is sent by its hash, and whole where the server does not know it yet.
// It is safe for concurrent use.
type Script struct{ script *redis.Script }

// NewScript makes a Script. It is neither sent nor checked.
func NewScript(source string) *Script { return &Script{redis.NewScript(source)} }

// Run runs a script, which returns a list of strings. The keys are those of [Client.Key].
func (c *Client) Run(ctx context.Context, s *Script, keys []string, args []any) ([]string, error) {
	reply, err := s.script.Run(ctx, c.redis, keys, args...).Slice()
	if err != nil {
		return nil, c.clean(err)
	}
	out := make([]string, len(reply))
	for i, one := range reply {
		text, ok := one.(string)
		if !ok {
			return nil, fmt.Errorf("redis: the script returned a list with a %T in it", one)
		}
		out[i] = text
	}
	return out, nil
}
