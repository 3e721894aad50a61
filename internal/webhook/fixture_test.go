package webhook_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"sluice/internal/webhook"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	// secretText is the part of it that no text may show.
	secretText = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// now is the clock of the tests; the published vector is of this time.
var now = time.Unix(1614265330, 0)

func sender(tb testing.TB, o webhook.Options) *webhook.Sender {
	tb.Helper()
	if o.Secret == "" {
		o.Secret = secret
	}
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	s, err := webhook.New(o)
	if err != nil {
		tb.Fatalf("new: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// local sends to servers of the tests.
func local(tb testing.TB) *webhook.Sender {
	return sender(tb, webhook.Options{AllowPrivate: true})
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func message(url string) webhook.Message {
	return webhook.Message{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", URL: url, Body: []byte(`{"test": 2432232314}`)}
}

// unplugged resolves nothing, at once.
func unplugged() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("there is no network")
	}}
}

// names is a name server that asks a function for the addresses of whatever
// name it is asked for.
func names(addresses func() []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go answerNames(far, addresses)
		return near, nil
	}}
}

// answerNames answers questions of the protocol of name servers, in its form
// for streams, until the other side hangs up.
func answerNames(connection net.Conn, addresses func() []netip.Addr) {
	defer connection.Close()
	for {
		var length uint16
		if binary.Read(connection, binary.BigEndian, &length) != nil {
			return
		}
		question := make([]byte, length)
		if _, err := io.ReadFull(connection, question); err != nil {
			return
		}
		answer := nameAnswer(question, addresses)
		if _, err := connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// nameAnswer repeats the question and adds the addresses that are of the kind
// that it asks for.
func nameAnswer(question []byte, addresses func() []netip.Addr) []byte {
	const head, classInternet, lifetime = 12, 1, 0
	end := head
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	end += 5
	var records []byte
	count := uint16(0)
	for _, address := range addresses() {
		if wanted := map[bool]uint16{true: 1, false: 28}[address.Is4()]; wanted != kind {
			continue
		}
		count++
		records = append(records, 0xc0, head) // the name is that of the question
		records = binary.BigEndian.AppendUint16(records, kind)
		records = binary.BigEndian.AppendUint16(records, classInternet)
		records = binary.BigEndian.AppendUint32(records, lifetime)
		records = binary.BigEndian.AppendUint16(records, uint16(len(address.AsSlice())))
		records = append(records, address.AsSlice()...)
	}
	answer := append([]byte{}, question[:2]...)
	answer = append(answer, 0x81, 0x80, 0, 1) // an answer without an error, one question
	answer = binary.BigEndian.AppendUint16(answer, count)
	answer = append(answer, 0, 0, 0, 0)
	answer = append(answer, question[head:end]...)
	return append(answer, records...)
}
