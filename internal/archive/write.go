package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Writer collects the entries of an archive. The manifest comes first but is
// known last, so the compressed entries are stored in a separate file.
type Writer struct {
	body  io.ReadWriteSeeker
	tar   *tar.Writer
	zstd  *zstd.Encoder
	files []File
	at    time.Time
}

// NewWriter returns a writer that stores the entries in body, an empty file. at
// is the time of all entries.
func NewWriter(body io.ReadWriteSeeker, at time.Time) (*Writer, error) {
	z, err := newEncoder(body)
	if err != nil {
		return nil, err
	}
	return &Writer{body: body, zstd: z, tar: tar.NewWriter(z), at: at.UTC().Truncate(time.Second)}, nil
}

// newEncoder returns an encoder that needs about 10 MB of memory and one
// thread.
func newEncoder(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// Add writes one file of size bytes. If r has more, the rest is ignored; if it
// has fewer, zeros are added, because the file of a running program may change
// in the meantime.
func (w *Writer) Add(name string, r io.Reader, size int64, executable bool) error {
	if err := checkName(name); err != nil {
		return err
	}
	mode := int64(0o600)
	if executable {
		mode = 0o700
	}
	sum := sha256.New()
	err := w.entry(name, size, mode, io.TeeReader(io.MultiReader(r, zeros{}), sum))
	w.files = append(w.files, File{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil)), Executable: executable})
	return err
}

// entry writes a header and the first size bytes of r, as one frame.
func (w *Writer) entry(name string, size, mode int64, r io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: mode, ModTime: w.at, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if _, err := io.CopyN(w.tar, r, size); err != nil {
		return err
	}
	return w.endFrame(w.tar.Flush())
}

func (w *Writer) endFrame(err error) error {
	if err != nil {
		return err
	}
	if err := w.zstd.Close(); err != nil {
		return err
	}
	w.zstd.Reset(w.body)
	return nil
}

// Finish writes the whole archive to out, and adds the files to m.
func (w *Writer) Finish(out io.Writer, m *Manifest) error {
	m.Format, m.Files, m.Created = Format, w.files, w.at
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return fmt.Errorf("%d files are too many for a backup: leave out the folders of runs", len(m.Files))
	}
	if err := w.endFrame(w.tar.Close()); err != nil {
		return err
	}
	head, err := newEncoder(out)
	if err != nil {
		return err
	}
	first := &Writer{tar: tar.NewWriter(head), zstd: head, at: w.at} // not closed: the entries follow
	if err := first.entry(ManifestName, int64(len(text)), 0o600, bytes.NewReader(text)); err != nil {
		return err
	}
	if _, err := w.body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(out, w.body)
	return err
}

// zeros is an infinite reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
