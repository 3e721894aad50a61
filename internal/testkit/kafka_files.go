package testkit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// copyDependencies is what Maven is asked to do, in a version that is
	// pinned like everything else.
	copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	// fetchTime is how long Maven may take: a registry that does not answer
	// must not keep the tests.
	fetchTime = 2 * time.Minute
	// oldestJava is the first that a broker of Kafka 4 runs on.
	oldestJava = 17
	// kafkaClasses is the archive of loaded classes: with it a broker starts
	// in a third of the time.
	kafkaClasses = "classes.jsa"
)

// findJava returns the path of a Java that can run a broker.
func findJava() (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", &missingError{"Apache Kafka", "there is no java on PATH; run scripts/test-servers as root, or install it"}
	}
	if version := javaVersion(context.Background(), path); version < oldestJava {
		return "", &missingError{"Apache Kafka", fmt.Sprintf("java is of version %d, and %d is the oldest that will do", version, oldestJava)}
	}
	return path, nil
}

// javaVersion returns the first number of a Java's version, 0 if it does not
// tell.
func javaVersion(ctx context.Context, path string) int {
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`version "(\d+)`).FindSubmatch(out)
	if found == nil {
		return 0
	}
	version, err := strconv.Atoi(string(found[1]))
	if err != nil {
		return 0
	}
	return version
}

// kafkaSource is the folder that says what Kafka is made of.
func kafkaSource() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "internal", "testkit", "kafka"), nil
}

// kafkaVersion reads the version from the list of files.
func kafkaVersion() (string, error) {
	sums, _, err := kafkaSums()
	if err != nil {
		return "", err
	}
	for name := range sums {
		if version, ok := strings.CutPrefix(name, "kafka-server-"); ok && !strings.HasPrefix(version, "common") {
			return strings.TrimSuffix(version, ".jar"), nil
		}
	}
	return "", errors.New("the list of Kafka's files names no server")
}

// kafkaSums returns the checksum that every file must have, by name, and a
// short text that differs when the list is another.
func kafkaSums() (sums map[string]string, stamp string, err error) {
	source, err := kafkaSource()
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(filepath.Join(source, "jars.sha256"))
	if err != nil {
		return nil, "", fmt.Errorf("read the list of Kafka's files: %w", err)
	}
	sums = map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || name != filepath.Base(name) {
			return nil, "", fmt.Errorf("the list of Kafka's files has a line %q", lines.Text())
		}
		sums[name] = sum
	}
	whole := sha256.Sum256(text)
	return sums, hex.EncodeToString(whole[:6]), nil
}

// getKafka returns the folder of Kafka's files, fetching them with Maven if
// they are not there. Test processes that need them at the same time wait for
// the first.
func (k *kit) getKafka(java string) (string, error) {
	sums, stamp, err := kafkaSums()
	if err != nil {
		return "", err
	}
	tools, unlock, err := lockTools("kafka")
	if err != nil {
		return "", err
	}
	defer unlock()
	folder := filepath.Join(tools, "kafka-"+stamp)
	if _, err := os.Stat(folder); err != nil {
		if err := fetchKafka(folder, sums); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(filepath.Join(folder, kafkaClasses)); err != nil {
		// Without the archive brokers start as well, if later.
		_ = k.archiveKafka(java, folder)
	}
	return folder, nil
}

// fetchKafka lets Maven copy Kafka's files into a folder and looks whether they
// are what they must be.
func fetchKafka(folder string, sums map[string]string) error {
	source, err := kafkaSource()
	if err != nil {
		return err
	}
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("there is no mvn on PATH to fetch it with; run scripts/test-servers as root, or install Maven")
	}
	unfinished := folder + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("fetch Kafka: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	command := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", "--file", filepath.Join(source, "pom.xml"),
		copyDependencies, "-DincludeScope=runtime", "-DoutputDirectory="+unfinished)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn cannot fetch it: %w: %s", err, firstLines(out, 3))
	}
	if err := verifyFiles(unfinished, sums); err != nil {
		return err
	}
	if err := os.Rename(unfinished, folder); err != nil {
		return fmt.Errorf("install Kafka: %w", err)
	}
	return nil
}

// firstLines keeps what a program says first, where the reason is.
func firstLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[:min(n, len(lines))], " ")
}

// verifyFiles tells whether a folder holds exactly the files that it must.
func verifyFiles(folder string, sums map[string]string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("look at Kafka's files: %w", err)
	}
	missing := maps.Clone(sums)
	for _, entry := range entries {
		want, ok := sums[entry.Name()]
		if !ok {
			return fmt.Errorf("%s came with Kafka and is not on the list of its files", entry.Name())
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return fmt.Errorf("look at Kafka's files: %w", err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s is not the file it should be: its SHA-256 is %x, not %s", entry.Name(), sum, want)
		}
		delete(missing, entry.Name())
	}
	if len(missing) > 0 {
		return fmt.Errorf("files of Kafka did not come: %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return nil
}

// kafkaJars lists Kafka's files, always in the same order: an archive of
// classes is only good for the order it was made with.
func kafkaJars(folder string) ([]string, error) {
	jars, err := filepath.Glob(filepath.Join(folder, "*.jar"))
	if err != nil || len(jars) == 0 {
		return nil, fmt.Errorf("there are no files of Kafka in %s (%w)", folder, err)
	}
	slices.Sort(jars)
	return jars, nil
}

// archiveKafka runs a broker once and lets Java keep the classes it has loaded.
func (k *kit) archiveKafka(java, folder string) error {
	jars, err := kafkaJars(folder)
	if err != nil {
		return err
	}
	unfinished := filepath.Join(folder, kafkaClasses+".unfinished")
	p, err := k.launch(k.kafkaOf(java, jars, "-XX:ArchiveClassesAtExit="+unfinished))
	if err != nil {
		return err
	}
	defer p.discard()
	if err := p.stop(); err != nil {
		return err
	}
	if err := os.Rename(unfinished, filepath.Join(folder, kafkaClasses)); err != nil {
		return fmt.Errorf("keep Kafka's classes: %w", err)
	}
	return nil
}
