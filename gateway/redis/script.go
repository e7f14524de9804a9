package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script that is sent by its hash, and whole where the server does not know it yet.
// It is safe for concurrent use.
type Script struct{ script *redis.Script }

// NewScript makes a Script. It is neither sent nor checked.
func NewScript(source string) *Script { return &Script{redis.NewScript(source)} }

// Run runs a script, which returns a list of strings and whole numbers. The keys are those of [Client.Key].
func (c *Client) Run(ctx context.Context, s *Script, keys []string, args []any) ([]string, error) {
	return c.texts(s.script.Run(ctx, c.redis, keys, args...))
}

// texts is what a script has returned.
func (c *Client) texts(answer *redis.Cmd) ([]string, error) {
	reply, err := answer.Slice()
	if err != nil {
		return nil, c.clean(err)
	}
	out := make([]string, len(reply))
	for i, one := range reply {
		switch one := one.(type) {
		case string:
			out[i] = one
		case int64:
			out[i] = strconv.FormatInt(one, 10)
		default:
			return nil, fmt.Errorf("redis: the script returned a list with a %T in it", one)
		}
	}
	return out, nil
}
