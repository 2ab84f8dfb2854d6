// SPDX-License-Identifier: MIT
//
// zip: reads a zip file by its central directory (PKWARE's APPNOTE, 4.3), and checks what it says of each file.
//
//   unzip(bytes)   Map of path -> Buffer; throws where it is no whole zip file
import assert from 'node:assert/strict';
import * as zlib from 'node:zlib';

const END = 0x06054b50;
const END_BYTES = 22;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const UTF8 = 0x800;
const DEFLATED = 8;

const TABLE = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
// Node has it from 20.15 on.
const crc32 = zlib.crc32 ?? ((bytes) => (bytes.reduce((crc, byte) => TABLE[(crc ^ byte) & 255] ^ (crc >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);

export function unzip(bytes) {
  const end = bytes.length - END_BYTES;
  assert.ok(end >= 0 && bytes.readUInt32LE(end) === END, 'the zip file has its end');
  const found = new Map();
  let at = bytes.readUInt32LE(end + 16);
  for (let n = bytes.readUInt16LE(end + 10); n > 0; n--) {
    assert.equal(bytes.readUInt32LE(at), ENTRY);
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const path = bytes.toString('utf8', at + 46, at + 46 + nameBytes);
    assert.ok(/^[\x20-\x7e]*$/.test(path) || bytes.readUInt16LE(at + 8) & UTF8, `${path} is marked as UTF-8`);
    const local = bytes.readUInt32LE(at + 42);
    assert.equal(bytes.readUInt32LE(local), LOCAL);
    const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(from, from + bytes.readUInt32LE(at + 20));
    assert.equal(bytes.readUInt16LE(at + 10), DEFLATED, path);
    const content = zlib.inflateRawSync(packed);
    assert.equal(content.length, bytes.readUInt32LE(at + 24), `${path}: its length`);
    assert.equal(crc32(content), bytes.readUInt32LE(at + 16), `${path}: its checksum`);
    assert.ok(!found.has(path), `${path} is there once`);
    found.set(path, content);
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return found;
}
