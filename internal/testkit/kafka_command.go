package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// KafkaCommand lays out a broker below a folder and returns the command that
// runs it, for programs that are no tests: they start it and end it themselves.
// Apache Kafka is fetched if it is not there; the program runs in one of the
// repository's folders.
func KafkaCommand(ctx context.Context, folder string, port, controller int) (*exec.Cmd, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	files, err := current.getKafka(java)
	if err != nil {
		return nil, &missingError{"Apache Kafka", err.Error()}
	}
	jars, err := kafkaJars(files)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder of Kafka: %w", err)
	}
	if err := layOutKafka(data, controller); err != nil {
		return nil, err
	}
	// A broker that is measured gets the whole compiler and some room.
	options := []string{"-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:SharedArchiveFile=" + filepath.Join(files, kafkaClasses)}
	command := exec.CommandContext(ctx, java, append(options, kafkaArguments(jars, data, port)...)...)
	command.Dir = folder
	return command, nil
}

// KafkaAnswers asks a broker once whether it is ready.
func KafkaAnswers(ctx context.Context, port int) error { return kafkaAnswers(ctx, port) }

// KafkaVersion is that of the Apache Kafka in use.
func KafkaVersion() (string, error) { return kafkaVersion() }
