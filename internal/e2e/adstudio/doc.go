// Package adstudio tests examples/adstudio as its users see it: with the gateway as a program,
// the MCP server over HTTP, and the page in a browser.
package adstudio
