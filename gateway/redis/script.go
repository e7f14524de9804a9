package redis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script that is sent by its hash, and whole where the server does not know it yet.
// It is safe for concurrent use.
type Script struct{ source, hash any }

// NewScript makes a Script. It is neither sent nor checked.
func NewScript(source string) *Script {
	return &Script{source: source, hash: redis.NewScript(source).Hash()}
}

// Keys are the keys of a script. Those of many runs are made once: go-redis takes each as an any.
type Keys []any

// Run runs a script, which returns a list of strings and whole numbers. The keys are those of [Client.Key].
func (c *Client) Run(ctx context.Context, s *Script, keys Keys, args []any) ([]string, error) {
	answer := s.byHash(ctx, keys, args)
	if err := c.redis.Process(ctx, answer); redis.HasErrorPrefix(err, "NOSCRIPT") {
		return c.whole(ctx, s, keys, args)
	}
	return c.texts(answer)
}

// whole sends a script that the server does not know.
func (c *Client) whole(ctx context.Context, s *Script, keys Keys, args []any) ([]string, error) {
	answer := evaluation(ctx, "eval", s.source, keys, args)
	_ = c.redis.Process(ctx, answer) // the answer has the error
	return c.texts(answer)
}

func (s *Script) byHash(ctx context.Context, keys Keys, args []any) *redis.Cmd {
	return evaluation(ctx, "evalsha", s.hash, keys, args)
}

// evaluation is a command that runs a script.
func evaluation(ctx context.Context, verb, script any, keys Keys, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(append(append(all, verb, script, len(keys)), keys...), args...)
	return redis.NewCmd(ctx, all...)
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
