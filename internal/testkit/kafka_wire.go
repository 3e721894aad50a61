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

// kafkaAnswers asks a broker once whether it has found its controller, for only
// then does it count itself among the brokers of the cluster, and whether it
// looks after groups, which takes a topic that is made when it is first asked.
// A client library would do more than is wanted here: it retries.
func kafkaAnswers(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
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
	// No topics, and none is to be made. The answer is how long to wait, and
	// how many brokers there are.
	answer, err := kafkaAsk(connection, kafkaMetadata, []byte{0, 0, 0, 0, 0})
	if err != nil {
		return err
	}
	if len(answer) < 8 || binary.BigEndian.Uint32(answer[4:]) == 0 {
		return errors.New("the cluster has no brokers yet")
	}
	// The name of a group, and that it is one. The answer is how long to wait,
	// and what is wrong.
	answer, err = kafkaAsk(connection, kafkaCoordinator, []byte{0, 1, 'g', 0})
	if err != nil {
		return err
	}
	if len(answer) < 6 || binary.BigEndian.Uint16(answer[4:]) != 0 {
		return errors.New("nobody looks after groups yet")
	}
	return nil
}

// The questions of Kafka's protocol that are asked here, and the versions: both
// are from before fields had tags.
var (
	kafkaMetadata    = [2]uint16{3, 5}
	kafkaCoordinator = [2]uint16{10, 1}
)

// kafkaAsk sends a question and returns the answer to it.
func kafkaAsk(connection io.ReadWriter, question [2]uint16, body []byte) ([]byte, error) {
	head := binary.BigEndian.AppendUint16(nil, question[0])
	head = binary.BigEndian.AppendUint16(head, question[1])
	head = binary.BigEndian.AppendUint32(head, 1)      // its number
	head = binary.BigEndian.AppendUint16(head, 0xFFFF) // the client has no name
	whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(head)+len(body))), head...)
	if _, err := connection.Write(append(whole, body...)); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	var size [4]byte
	if _, err := io.ReadFull(connection, size[:]); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	const most = 1 << 20
	answer := make([]byte, min(binary.BigEndian.Uint32(size[:]), most))
	if _, err := io.ReadFull(connection, answer); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	// It begins with the question's number.
	return answer[min(4, len(answer)):], nil
}
