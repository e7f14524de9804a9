package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// evilRedis is a Redis that lets everybody in, and answers what it is asked with anything.
type evilRedis struct {
	listener net.Listener
	asked    atomic.Int64
}

// serve answers until the listener is closed.
func (e *evilRedis) serve() {
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return
		}
		go e.talk(c)
	}
}

// talk answers one connection.
func (e *evilRedis) talk(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		command, err := readCommand(in)
		if err != nil {
			return
		}
		switch strings.ToLower(command) {
		case "hello":
			_, err = io.WriteString(c, "-ERR unknown command\r\n")
		case "client", "select", "ping", "auth":
			_, err = io.WriteString(c, "+OK\r\n")
		default:
			err = e.lie(c)
		}
		if err != nil {
			return
		}
	}
}

// readCommand reads a command and returns its name.
func readCommand(in *bufio.Reader) (name string, err error) {
	length := func(mark string) (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), mark))
	}
	n, err := length("*")
	for i := 0; i < n && err == nil; i++ {
		var size int
		if size, err = length("$"); err != nil {
			break
		}
		if i == 0 && size < 100 {
			b := make([]byte, size)
			_, err = io.ReadFull(in, b)
			name = string(b)
		} else {
			_, err = io.CopyN(io.Discard, in, int64(size))
		}
		if err == nil {
			_, err = in.Discard(2)
		}
	}
	return name, err
}

// lie answers a command, each time in another way.
func (e *evilRedis) lie(c net.Conn) (err error) {
	switch e.asked.Add(1) % 9 {
	case 0:
		_, err = io.WriteString(c, "$2000000000\r\n"+strings.Repeat("a", 1<<20))
	case 1:
		_, err = io.WriteString(c, strings.Repeat("*1\r\n", 100_000))
	case 2:
		_, err = io.WriteString(c, "*1000000000\r\n"+strings.Repeat("$-1\r\n", 10_000))
	case 3:
		_, err = io.WriteString(c, fmt.Sprintf("$%d\r\n", 32<<20)+strings.Repeat("b", 32<<20)+"\r\n")
	case 4:
		_, err = io.WriteString(c, "-ERR "+strings.Repeat("e", 1<<20)+"\r\n")
	case 5:
		_, err = io.WriteString(c, "garbage\x00\xff\r\n")
	case 6:
		_, err = io.WriteString(c, "$5\r\nhello\r\n+OK\r\n:1\r\n$5\r\nagain\r\n") // more answers than there were questions
	case 7:
		time.Sleep(3 * time.Second)
		return io.EOF
	default:
		return io.EOF
	}
	return err
}
