package metrics

func (c *collected) keys(o Options) {
	c.add(o.Keys != nil, nil, func(set setter) {
		s := o.Keys()
		set("callgate_keys", "Keys of clients, of the configuration and of the store.", float64(s.Keys))
		set("callgate_teams", "Teams, of the configuration and of the store.", float64(s.Teams))
		set("callgate_keys_stale", "Whether the store did not say, last time, which keys have changed: 1 or 0.", number(s.Failed != nil))
	})
	c.add(o.Keys != nil, []string{"reason"}, func(set setter) {
		for reason, n := range o.Keys().Refused {
			set("callgate_key_refusals_total", "Requests that were refused for their key, by why: unknown, expired, blocked, address, team (it is gone), model, max_tokens or passthrough.",
				float64(n), string(reason))
		}
	})
}
