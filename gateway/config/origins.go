package config

import (
	"fmt"
	"net/url"
	"strings"
)

// checkOrigins checks the pages that may ask from within a browser.
func (c *Config) checkOrigins(r *report) {
	asksKeys := c.RequireKeys || len(c.Keys) > 0
	for i, text := range c.CORSOrigins {
		switch problem := originProblem(text); {
		case problem != "":
			r.add(path("cors_origins").At(i), "%s", problem)
		case text == "*" && !asksKeys:
			r.add(path("cors_origins").At(i), "any page could spend your upstreams' keys, since this gateway asks for none of its own; list the origins of your pages, or add keys:")
		}
	}
}

// originProblem says why a text is no origin as browsers send it, or "".
func originProblem(text string) string {
	if text == "*" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Contains(u.Host, "*") {
		return fmt.Sprintf("%.80q is no origin; write one as browsers send it, such as https://app.example or http://localhost:5173", text)
	}
	if origin := strings.ToLower(u.Scheme + "://" + u.Host); text != origin {
		return fmt.Sprintf("browsers send origins in small letters, and without a path; write %s", origin)
	}
	return ""
}
