package testkit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// kafkaAnswers asks a broker once whether it and its controller have found each
// other: only then does it count itself among the brokers of the cluster. A
// client library would do more than is wanted here: it retries.
func kafkaAnswers(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address(port))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := connection.Write(kafkaQuestion()); err != nil {
		return err
	}
	return kafkaAnswer(connection)
}

// kafkaQuestion asks for the brokers and for no topics: Metadata, version 5.
func kafkaQuestion() []byte {
	const metadata, version, number = 3, 5, 1
	body := binary.BigEndian.AppendUint16(nil, metadata)
	body = binary.BigEndian.AppendUint16(body, version)
	body = binary.BigEndian.AppendUint32(body, number)
	body = binary.BigEndian.AppendUint16(body, 0xFFFF) // the client has no name
	body = binary.BigEndian.AppendUint32(body, 0)      // no topics
	body = append(body, 0)                             // none is to be made
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func kafkaAnswer(r io.Reader) error {
	// The size, the question's number, how long to wait, how many brokers.
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	if brokers := binary.BigEndian.Uint32(head[12:]); brokers == 0 {
		return errors.New("the cluster has no brokers yet")
	}
	return nil
}
