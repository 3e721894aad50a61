// Kfake serves Kafka's protocol without Kafka, for tests on machines that lack
// Java or the way to a registry. It keeps what it is told, so that it can be
// killed and started again.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	port := flag.Int("port", 9092, "the port of 127.0.0.1 to listen on")
	data := flag.String("data", "", "the folder to keep records in")
	flag.Parse()
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(*port),
		kfake.DataDir(*data),
		kfake.SyncWrites(),
		// Tests do not wait for as long as people do.
		kfake.GroupMinSessionTimeout(100*time.Millisecond),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	<-end
	cluster.Close()
}
