// Command picture makes an animated picture of a terminal from what a program has printed: an SVG of 24
// lines in which the text runs by, in the reader's light or dark. "make picture" makes docs/demo.svg so.
package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
)

const (
	rows, columns = 24, 80
	lineHeight    = 18 // pixels
	charWidth     = 8
	margin        = 14
	perLine       = 0.12 // seconds
	rest          = 4.0  // seconds at the end, before it begins again
)

func main() {
	if err := draw(os.Stdin, os.Stdout, strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// draw writes the picture of what a command has printed.
func draw(r io.Reader, w io.Writer, command string) error {
	lines := []string{"$ " + command}
	in := bufio.NewScanner(r)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	if err := in.Err(); err != nil {
		return err
	}
	width, height := int(columns*charWidth)+2*margin, rows*lineHeight+2*margin
	total := float64(len(lines))*perLine + rest
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="What %s prints">
<style>
svg{--back:#fff;--text:#24292f;--good:#1a7f37;--bad:#cf222e}
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--good:#3fb950;--bad:#f85149}}
rect{fill:var(--back)}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--text);white-space:pre}
.g{fill:var(--good)}.b{fill:var(--bad)}
g{animation:run %.1fs step-end infinite}
@keyframes run{`, width, height, html.EscapeString(command), total)
	for i := rows; i < len(lines); i++ { // the screen fills before it moves
		fmt.Fprintf(out, "%.1f%%{transform:translateY(%dpx)}", 100*float64(i)*perLine/total, (rows-i-1)*lineHeight)
	}
	last := -max(0, len(lines)-rows) * lineHeight
	fmt.Fprintf(out, "100%%{transform:translateY(%dpx)}}\n", last)
	for i := range min(rows, len(lines)) {
		fmt.Fprintf(out, "@keyframes l%d{0%%{opacity:0}%.2f%%{opacity:1}100%%{opacity:1}}.l%[1]d{animation:l%[1]d %.1[3]fs step-end infinite}\n", i, 100*float64(i)*perLine/total, total)
	}
	fmt.Fprintf(out, "@media(prefers-reduced-motion:reduce){g,text{animation:none!important}g{transform:translateY(%dpx)}}\n</style>\n<rect width=\"%d\" height=\"%d\" rx=\"8\"/>\n", last, width, height)
	fmt.Fprintf(out, `<svg x="%d" y="%[1]d" width="%d" height="%d" overflow="hidden"><g>`+"\n", margin, width-2*margin, rows*lineHeight)
	for i, line := range lines {
		class := ""
		if i < rows {
			class = fmt.Sprintf(` class="l%d"`, i)
		}
		fmt.Fprintf(out, "<text%s y=\"%d\">%s</text>\n", class, i*lineHeight+13, marks(line))
	}
	fmt.Fprintln(out, "</g></svg>\n</svg>")
	return out.Flush()
}

// marks gives marks their colours.
func marks(line string) string {
	return strings.NewReplacer("✓", `<tspan class="g">✓</tspan>`, "✗", `<tspan class="b">✗</tspan>`).Replace(html.EscapeString(line))
}
