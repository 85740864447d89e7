//! Compression of files and map outputs: `DefaultCodec` is zlib, `GzipCodec` is gzip.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// `org.apache.hadoop.io.compress.DefaultCodec`: one zlib stream.
    Zlib,
    /// `org.apache.hadoop.io.compress.GzipCodec`: gzip members.
    Gzip,
}

/// Extensions of unsupported codecs: bzip2 and snappy of 1.2.1, LZO and LZ4 that are often added to it.
const FOREIGN_EXTENSIONS: [&str; 5] = [".bz2", ".snappy", ".lzo", ".lzo_deflate", ".lz4"];

/// Writes through a codec, or plainly.
#[derive(Debug)]
pub(crate) enum Encoder<W: Write> {
    Plain(W),
    Zlib(ZlibEncoder<W>),
    Gzip(GzEncoder<W>),
}

/// Reads through a codec, or plainly.
#[derive(Debug)]
pub(crate) enum Decoder<R: Read> {
    Plain(R),
    Zlib(Box<ZlibDecoder<R>>),
    /// Compressed, one or more members.
    Gzip(Box<MultiGzDecoder<R>>),
}

impl Codec {
    pub(crate) fn of_class(class: &str) -> Option<Self> {
        match class {
            "org.apache.hadoop.io.compress.DefaultCodec" => Some(Codec::Zlib),
            "org.apache.hadoop.io.compress.GzipCodec" => Some(Codec::Gzip),
            _ => None,
        }
    }

    /// The extension of such files, with its dot.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Codec::Zlib => ".deflate",
            Codec::Gzip => ".gz",
        }
    }

    /// The codec of an input file, by its extension.
    pub(crate) fn of_file(name: &str) -> Option<Self> {
        [Codec::Zlib, Codec::Gzip].into_iter().find(|codec| name.ends_with(codec.extension()))
    }

    /// Whether an input file has the extension of a codec that Hadoop may have and this program has not.
    pub(crate) fn is_foreign_file(name: &str) -> bool {
        FOREIGN_EXTENSIONS.iter().any(|extension| name.ends_with(extension))
    }
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(codec: Option<Codec>, out: W) -> Self {
        match codec {
            None => Encoder::Plain(out),
            Some(Codec::Zlib) => Encoder::Zlib(ZlibEncoder::new(out, Compression::default())),
            Some(Codec::Gzip) => Encoder::Gzip(GzEncoder::new(out, Compression::default())),
        }
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Encoder::Plain(out) => Ok(out),
            Encoder::Zlib(encoder) => encoder.finish(),
            Encoder::Gzip(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoder::Plain(out) => out.write(bytes),
            Encoder::Zlib(encoder) => encoder.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoder::Plain(out) => out.flush(),
            Encoder::Zlib(encoder) => encoder.flush(),
            Encoder::Gzip(encoder) => encoder.flush(),
        }
    }
}

impl<R: Read> Decoder<R> {
    pub(crate) fn new(codec: Option<Codec>, source: R) -> Self {
        match codec {
            None => Decoder::Plain(source),
            Some(Codec::Zlib) => Decoder::Zlib(Box::new(ZlibDecoder::new(source))),
            Some(Codec::Gzip) => Decoder::Gzip(Box::new(MultiGzDecoder::new(source))),
        }
    }

    pub(crate) fn source_mut(&mut self) -> &mut R {
        match self {
            Decoder::Plain(source) => source,
            Decoder::Zlib(decoder) => decoder.get_mut(),
            Decoder::Gzip(decoder) => decoder.get_mut(),
        }
    }

    pub(crate) fn source(&self) -> &R {
        match self {
            Decoder::Plain(source) => source,
            Decoder::Zlib(decoder) => decoder.get_ref(),
            Decoder::Gzip(decoder) => decoder.get_ref(),
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Decoder::Plain(source) => source.read(room),
            Decoder::Zlib(decoder) => decoder.read(room),
            Decoder::Gzip(decoder) => decoder.read(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for codec in [None, Some(Codec::Zlib), Some(Codec::Gzip)] {
            let mut encoder = Encoder::new(codec, Vec::new());
            encoder.write_all(b"some text, some text").unwrap();
            let mut twice = encoder.finish().unwrap();
            if codec == Some(Codec::Gzip) {
                twice.extend_from_within(..);
            }
            let mut read = String::new();
            Decoder::new(codec, &twice[..]).read_to_string(&mut read).unwrap();
            assert_eq!(read.strip_suffix("some text, some text"), Some(&read[..read.len() - 20]));
            assert_eq!(read.len(), if codec == Some(Codec::Gzip) { 40 } else { 20 });
        }
    }

    #[test]
    fn extensions_select_codecs() {
        assert_eq!(Codec::of_file("a.gz"), Some(Codec::Gzip));
        assert_eq!(Codec::of_file("a.deflate"), Some(Codec::Zlib));
        assert_eq!(Codec::of_file("a.gz.txt"), None);
        assert_eq!(
            ["a.gz", "a.bz2", "a.lzo", "a.txt", "bz2"].map(Codec::is_foreign_file),
            [false, true, true, false, false]
        );
        assert_eq!(Codec::of_class("org.apache.hadoop.io.compress.BZip2Codec"), None);
    }
}
