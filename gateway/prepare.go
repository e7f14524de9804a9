package gateway

import "time"

// prepare looks at a request before any upstream is asked: whether its tools can be
// called at all, whether it goes in circles, and what the route adds to it. The order
// matters: what is refused costs nothing more.
func (g *Gateway) prepare(req *Request, c *conduct, way *chosen) (*attempts, error) {
	a := &attempts{g: g, asked: req, req: req, conduct: c, way: way, began: time.Now()}
	if err := a.checkBinding(); err != nil {
		return nil, err
	}
	a.checkPrefix()
	if err := a.checkRounds(); err != nil {
		return nil, err
	}
	a.addDate()
	a.readReferences()
	a.choice = a.req.choice()
	a.guarded = a.judged()
	if a.remark != "" {
		a.bare, a.req = a.req, a.req.remark(a.remark)
	}
	a.prepared = time.Since(a.began) + way.took
	return a, nil
}

// changed notes a change of the request, which shows as a repair of the answer.
func (a *attempts) changed(kind string) { a.changes = append(a.changes, kind) }
