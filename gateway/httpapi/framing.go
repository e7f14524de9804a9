package httpapi

import "github.com/labstack/echo/v4"

// endChunked ends the connection behind a request whose body came in chunks. A server
// has to where there was a Content-Length as well (RFC 9112, 6.3): who stands in front of
// us may have read that in place of the chunks, and takes what we would read next for a
// part of this request. net/http reads the chunks, forgets the length and goes on, and
// does not say whether there was one. Clients of this API send a length.
func endChunked(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if len(c.Request().TransferEncoding) > 0 {
			c.Response().Header().Set("connection", "close")
		}
		return next(c)
	}
}
