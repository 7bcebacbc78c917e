//! An archive from front to back: its members are inflated as they come, and checked while they are.
//!
//! The directory of a zip archive stands at its end. Whoever waits for it has taken all that came before into
//! memory, whatever it was. But every member has a header of its own, which suffices here: members that a matrix
//! does not need are passed over, and the others are `.npy` arrays, whose headers say how many bytes follow. That
//! is compared with what the member declares before anything is inflated, and with what it has afterwards.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::Members;
use crate::io::ReadError;
use crate::io::npy::{NpyArray, Origin};

/// The arrays that matrices consist of.
const ARRAYS: [&str; 8] = ["format", "shape", "data", "indices", "indptr", "row", "col", "coords"];

const MEMBER: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
/// What may follow the last member: the directory, or the end of an empty one.
const DIRECTORY: [u32; 3] = [0x0201_4b50, 0x0605_4b50, 0x0606_4b50];

/// The bytes of the arrays of a matrix, inflated.
#[derive(Debug, Default)]
pub(super) struct Inflated {
    arrays: BTreeMap<&'static str, Vec<u8>>,
}

impl Members for Inflated {
    fn has(&self, name: &'static str) -> Result<bool, ReadError> {
        Ok(self.arrays.contains_key(name))
    }

    fn with<U>(
        &self,
        name: &'static str,
        read: impl FnOnce(NpyArray<&mut dyn Read>) -> Result<U, ReadError>,
    ) -> Result<U, ReadError> {
        let mut bytes = &self.arrays.get(name).ok_or_else(|| super::missing(name))?[..];
        read(NpyArray::open(Origin::Archive(name), &mut bytes as &mut dyn Read)?)
    }
}

impl Inflated {
    /// Reads an archive to its end. Memory grows with the bytes of the arrays that are really there.
    ///
    /// # Errors
    /// If it is no zip archive, or a member is not what it declares.
    pub(super) fn read(stream: impl Read) -> Result<Self, ReadError> {
        let mut from = BufReader::with_capacity(1 << 16, stream);
        let mut this = Self::default();
        loop {
            match u32::from_le_bytes(bytes(&mut from)?) {
                MEMBER => this.member(&mut from)?,
                end if DIRECTORY.contains(&end) => break,
                _ => {
                    return Err(zip("there is neither a member nor a directory where one must be"));
                }
            }
        }
        // What is compressed once more has a checksum at its end.
        io::copy(&mut from, &mut io::sink()).map_err(broken)?;
        Ok(this)
    }

    fn member(&mut self, from: &mut impl BufRead) -> Result<(), ReadError> {
        let head = Head::read(from)?;
        let known = ARRAYS.into_iter().find(|name| head.name == format!("{name}.npy").as_bytes());
        if let Some(name) = known
            && self.arrays.contains_key(name)
        {
            return Err(ReadError::Npz { array: name, reason: "it is there twice".into() });
        }
        let packed = from.take(head.packed.unwrap_or(u64::MAX));
        let (sizes, array) = match head.method {
            0 if head.packed.is_some() => unpacked(
                CountedMember::new(Stored { from: packed, read: 0 }),
                known,
                head.unpacked,
            )?,
            8 => unpacked(CountedMember::new(DeflateDecoder::new(packed)), known, head.unpacked)?,
            0 => return Err(zip("a member has no length; save the archive to a file")),
            method => return Err(zip(format!("compression method {method} is not known"))),
        };
        head.check(from, &sizes)?;
        if let (Some(name), Some(array)) = (known, array) {
            self.arrays.insert(name, array);
        }
        Ok(())
    }
}

/// What a member turned out to be: bytes before and after it was inflated, and the checksum of these.
struct MemberSizes {
    packed: u64,
    unpacked: u64,
    crc: u32,
}

/// Inflates a member to its end, and keeps its bytes if it is a known array.
fn unpacked(
    mut from: CountedMember<impl PackedReader>,
    known: Option<&'static str>,
    declared: Option<u64>,
) -> Result<(MemberSizes, Option<Vec<u8>>), ReadError> {
    let array = known.map(|name| array(&mut from, name, declared)).transpose()?;
    let rest = io::copy(&mut from, &mut io::sink()).map_err(broken)?;
    if let (Some(name), Some(_), 1..) = (known, &array, rest) {
        let reason = format!("it goes on after the elements of its shape, by {rest} bytes");
        return Err(ReadError::Npz { array: name, reason });
    }
    let crc = from.crc.sum();
    Ok((MemberSizes { packed: from.from.packed(), unpacked: from.read, crc }, array))
}

/// An array: its header, and the elements that its shape has. Of a type that no array of a matrix has, the header.
fn array(
    from: &mut CountedMember<impl PackedReader>,
    name: &'static str,
    declared: Option<u64>,
) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    let header = NpyArray::open(Origin::Archive(name), Copied { from: &mut *from, to: &mut head })?;
    let bytes = header.bytes()?;
    let Some(bytes) = bytes else {
        io::copy(from, &mut io::sink()).map_err(broken)?;
        return Ok(head);
    };
    header.check_declared(declared)?;
    drop(header);
    // Grows with what is there.
    from.take(bytes).read_to_end(&mut head).map_err(broken)?;
    Ok(head)
}

/// A member's own header.
struct Head {
    name: Vec<u8>,
    method: u16,
    /// Bytes of the member, and of what it holds; `None` if a descriptor after it says so.
    packed: Option<u64>,
    unpacked: Option<u64>,
    crc: Option<u32>,
    /// Whether sizes in the descriptor have 64 bits.
    is_large: bool,
}

impl Head {
    /// Reads what follows the signature.
    fn read(from: &mut impl Read) -> Result<Self, ReadError> {
        let fixed: [u8; 26] = bytes(from)?;
        let u16_at = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at + 2)) << 16 | u32::from(u16_at(at));
        let (flags, method) = (u16_at(2), u16_at(4));
        if flags & 1 != 0 {
            return Err(zip("a member is encrypted"));
        }
        let mut name = vec![0; u16_at(22).into()];
        from.read_exact(&mut name).map_err(broken)?;
        let mut extra = vec![0; u16_at(24).into()];
        from.read_exact(&mut extra).map_err(broken)?;
        let (mut packed, mut unpacked) = (u64::from(u32_at(14)), u64::from(u32_at(18)));
        let mut is_large = false;
        let mut rest = &extra[..];
        while let [i0, i1, n0, n1, fields @ ..] = rest {
            let len = usize::from(u16::from_le_bytes([*n0, *n1])).min(fields.len());
            let (field, after) = fields.split_at(len);
            rest = after;
            if [*i0, *i1] == [1, 0] {
                is_large = true;
                let mut sizes =
                    field.as_chunks::<8>().0.iter().map(|&size| u64::from_le_bytes(size));
                for size in [&mut unpacked, &mut packed] {
                    if *size == u64::from(u32::MAX) {
                        *size = sizes.next().unwrap_or(*size);
                    }
                }
            }
        }
        let follows = flags & 8 != 0;
        let known = |size: u64| (!follows).then_some(size);
        let (packed, unpacked) = (known(packed), known(unpacked));
        Ok(Self { name, method, packed, unpacked, crc: (!follows).then_some(u32_at(10)), is_large })
    }

    /// Compares what is declared, here or in the descriptor that follows, with what was found.
    fn check(&self, from: &mut impl Read, found: &MemberSizes) -> Result<(), ReadError> {
        let declared = match (self.crc, self.packed, self.unpacked) {
            (Some(crc), Some(packed), Some(unpacked)) => MemberSizes { packed, unpacked, crc },
            _ => {
                let mut crc = u32::from_le_bytes(bytes(from)?);
                // The signature is usual, not needed.
                if crc == DESCRIPTOR {
                    crc = u32::from_le_bytes(bytes(from)?);
                }
                let mut size = || -> Result<u64, ReadError> {
                    Ok(match self.is_large {
                        true => u64::from_le_bytes(bytes(from)?),
                        false => u32::from_le_bytes(bytes(from)?).into(),
                    })
                };
                let packed = size()?;
                MemberSizes { packed, unpacked: size()?, crc }
            }
        };
        let name = String::from_utf8_lossy(&self.name);
        let bad = |what: &str, declared: u64, found: u64| {
            Err(zip(format!("{name:?} declares {declared} bytes {what}, and has {found}")))
        };
        if declared.packed != found.packed {
            return bad("as it is stored", declared.packed, found.packed);
        }
        if declared.unpacked != found.unpacked {
            return bad("in all", declared.unpacked, found.unpacked);
        }
        if declared.crc != found.crc {
            return Err(zip(format!("the checksum of {name:?} does not match")));
        }
        Ok(())
    }
}

/// Compressed bytes, and how many were used.
trait PackedReader: Read {
    fn packed(&self) -> u64;
}

impl<R: BufRead> PackedReader for DeflateDecoder<R> {
    fn packed(&self) -> u64 {
        self.total_in()
    }
}

/// Bytes that are stored as they are.
struct Stored<R> {
    from: R,
    read: u64,
}

impl<R: Read> Read for Stored<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.read += n as u64;
        Ok(n)
    }
}

impl<R: Read> PackedReader for Stored<R> {
    fn packed(&self) -> u64 {
        self.read
    }
}

/// Counts bytes and sums them up.
struct CountedMember<R> {
    from: R,
    read: u64,
    crc: Crc,
}

impl<R> CountedMember<R> {
    fn new(from: R) -> Self {
        Self { from, read: 0, crc: Crc::new() }
    }
}

impl<R: Read> Read for CountedMember<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.read += n as u64;
        self.crc.update(&into[..n]);
        Ok(n)
    }
}

/// Keeps what is read.
struct Copied<'a, R> {
    from: &'a mut R,
    to: &'a mut Vec<u8>,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.to.extend_from_slice(&into[..n]);
        Ok(n)
    }
}

fn bytes<const N: usize>(from: &mut impl Read) -> Result<[u8; N], ReadError> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

fn zip(reason: impl Into<String>) -> ReadError {
    ReadError::Zip { reason: reason.into() }
}

fn broken(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => zip("the archive ends early"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => zip(error.to_string()),
        _ => ReadError::Io(error),
    }
}
