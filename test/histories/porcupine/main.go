// The command porcupine judges a history of test/histories with https://github.com/anishathalye/porcupine.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	limit := flag.Duration("limit", time.Minute, "how long one window of one name may take; then the verdict is unknown")
	pictures := flag.String("pictures", "", "the folder for pictures of violations; default: that of the history")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: porcupine [options] <folder of a history>\nIts verdict is one line of JSON.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(64)
	}
	folder := flag.Arg(0)
	if *pictures == "" {
		*pictures = folder
	}
	found, err := run(folder, options{limit: *limit, pictures: *pictures})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if len(found.Findings)+len(found.Unknown) > 0 {
		os.Exit(1)
	}
}

func run(folder string, with options) (*verdict, error) {
	h, err := readHistory(folder)
	if err != nil {
		return nil, err
	}
	found, err := judge(h, with)
	if err != nil {
		return nil, err
	}
	return found, json.NewEncoder(os.Stdout).Encode(found)
}
