package testkit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// mongoHost returns the host and port of a server that the tests were told to
// use. The kit speaks to it without a user and without TLS.
func mongoHost(given string) (string, error) {
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "mongodb" || u.User != nil || u.RawQuery != "" || u.Host == "" {
		// The parser's words may hold a password.
		return "", fmt.Errorf("%s must be like mongodb://host:27017, a server for tests that asks for no user and no TLS", mongoVariable)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "27017"), nil
	}
	return u.Host, nil
}

// The parts of a message of MongoDB's protocol: a head of four numbers
// (length, number, number answered, kind), flags, and one document.
const (
	wireHead    = 16
	wireMessage = 2013 // the kind of message that all commands and answers are
	wirePrefix  = wireHead + 4 + 1
	wireMost    = 48 << 20
)

// mongoCommand sends one command on a connection of its own. A driver would do
// more than is wanted of a server that is starting: it retries, and keeps
// watching the server.
func mongoCommand(ctx context.Context, host string, command bson.D, answer any) error {
	body, err := bson.Marshal(command)
	if err != nil {
		return err
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	message := make([]byte, wirePrefix, wirePrefix+len(body))
	binary.LittleEndian.PutUint32(message, uint32(wirePrefix+len(body)))
	binary.LittleEndian.PutUint32(message[12:], wireMessage)
	if _, err := connection.Write(append(message, body...)); err != nil {
		return err
	}
	reply, err := readWire(connection)
	if err != nil {
		return err
	}
	return decodeWire(reply, answer)
}

// readWire reads a message and returns its document.
func readWire(r io.Reader) (bson.Raw, error) {
	head := make([]byte, wirePrefix)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint32(head)
	if length < wirePrefix || length > wireMost || binary.LittleEndian.Uint32(head[12:]) != wireMessage {
		return nil, errors.New("the answer is not of MongoDB's protocol")
	}
	body := make([]byte, length-wirePrefix)
	_, err := io.ReadFull(r, body)
	return body, err
}

func decodeWire(reply bson.Raw, answer any) error {
	var outcome struct {
		OK      float64 `bson:"ok"`
		Message string  `bson:"errmsg"`
	}
	if err := bson.Unmarshal(reply, &outcome); err != nil {
		return err
	}
	if outcome.OK != 1 {
		return errors.New(outcome.Message)
	}
	if answer == nil {
		return nil
	}
	return bson.Unmarshal(reply, answer)
}
