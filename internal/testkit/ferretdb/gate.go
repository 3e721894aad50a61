package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// gate lets one write through at a time. MongoDB's promise is that a write to a
// document is atomic; FerretDB 1 reads the documents that an update is for and
// writes them back in two steps, between which another update can come.
// Programs that rely on the promise cannot be tested on a server that does not
// keep it.
type gate struct {
	behind string
	writes sync.Mutex
}

// accept serves connections until the listener is closed.
func (g *gate) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go g.serve(client)
		}
	}
}

// serve passes the messages of a connection on. It ends with either side, also
// when the client leaves while an answer is awaited: nobody else would tell FerretDB.
func (g *gate) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", g.behind)
	if err != nil {
		return
	}
	defer server.Close()
	requests, done := make(chan []byte), make(chan struct{})
	defer close(done)
	go func() {
		defer close(requests)
		defer server.Close()
		for {
			request, err := readMessage(client)
			if err != nil {
				return
			}
			select {
			case requests <- request:
			case <-done:
				return
			}
		}
	}()
	for request := range requests {
		reply, err := g.ask(server, request)
		if err != nil {
			return
		}
		if _, err := client.Write(reply); err != nil {
			return
		}
	}
}

func (g *gate) ask(server net.Conn, request []byte) ([]byte, error) {
	if isWrite(request) {
		g.writes.Lock()
		defer g.writes.Unlock()
	}
	if _, err := server.Write(request); err != nil {
		return nil, err
	}
	return readMessage(server)
}

// The layout of a message: its length, its number, the number it answers, its
// kind; of a command, flags, the kind of its first section, and a document.
const (
	headSize     = 16
	kindAt       = 12
	kindCommand  = 2013
	documentAt   = headSize + 4 + 1
	firstFieldAt = documentAt + 4 + 1
	mostBytes    = 64 << 20
)

func readMessage(r io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head)
	if size < headSize || size > mostBytes {
		return nil, errors.New("a message of an impossible size")
	}
	message := make([]byte, size)
	copy(message, head)
	_, err := io.ReadFull(r, message[headSize:])
	return message, err
}

// isWrite looks at the name of a command, which is its document's first field.
func isWrite(message []byte) bool {
	if len(message) < firstFieldAt || binary.LittleEndian.Uint32(message[kindAt:]) != kindCommand {
		return false
	}
	name, _, _ := bytes.Cut(message[firstFieldAt:], []byte{0})
	switch string(name) {
	case "insert", "update", "delete", "findAndModify", "findandmodify":
		return true
	default:
		return false
	}
}
