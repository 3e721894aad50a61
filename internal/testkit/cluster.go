package testkit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	clusterMasters = 3
	clusterSlots   = 16_384
)

// RedisCluster returns the URL of a cluster of three masters that the tests of
// this process share (redis://127.0.0.1:P1?addr=127.0.0.1:P2&addr=…).
func RedisCluster(tb testing.TB) string {
	tb.Helper()
	url := current.use(tb, "redis cluster", current.startCluster)
	current.sayRedis(tb)
	return url
}

// clusterNode is a Redis of the cluster and the port on which the others talk
// to it.
type clusterNode struct {
	port, bus int
}

func (k *kit) startCluster() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	nodes := make([]clusterNode, clusterMasters)
	for i := range nodes {
		node, err := k.startNode()
		if err != nil {
			return "", err
		}
		nodes[i] = node
	}
	if err := joinCluster(ctx, nodes); err != nil {
		return "", fmt.Errorf("make a Redis cluster: %w", err)
	}
	url := redisURL(nodes[0].port)
	for i, node := range nodes[1:] {
		url += "?&"[min(i, 1):][:1] + "addr=" + address(node.port)
	}
	return url, nil
}

func (k *kit) startNode() (clusterNode, error) {
	work, err := k.open()
	if err != nil {
		return clusterNode{}, err
	}
	// The usual one, 10000 above, may be somebody else's.
	bus, err := work.port()
	if err != nil {
		return clusterNode{}, err
	}
	prog, err := redisProgram("--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus))
	if err != nil {
		return clusterNode{}, err
	}
	p, err := k.launch(prog)
	if err != nil {
		return clusterNode{}, err
	}
	return clusterNode{p.port, bus}, nil
}

// joinCluster shares the slots out, introduces the nodes to each other and
// waits until all of them know it all.
func joinCluster(ctx context.Context, nodes []clusterNode) error {
	for i, node := range nodes {
		first, last := i*clusterSlots/len(nodes), (i+1)*clusterSlots/len(nodes)-1
		commands := [][]string{
			{"CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(last)},
			{"CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i + 1)},
		}
		for _, command := range commands {
			if _, err := redisCommand(ctx, node.port, command...); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
			}
		}
	}
	for _, node := range nodes[1:] {
		_, err := redisCommand(ctx, nodes[0].port, "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(node.port), strconv.Itoa(node.bus))
		if err != nil {
			return fmt.Errorf("CLUSTER MEET: %w", err)
		}
	}
	for _, node := range nodes {
		if err := awaitCluster(ctx, node.port, len(nodes)); err != nil {
			return err
		}
	}
	return nil
}

// awaitCluster waits until a node knows the others and serves.
func awaitCluster(ctx context.Context, port, size int) error {
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		state, err := redisCommand(ctx, port, "CLUSTER", "INFO")
		if err == nil && strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_size:%d\r", size)) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the node at %s is not ready within %v; it says: %s", address(port), startTime, state), err)
		}
	}
}
