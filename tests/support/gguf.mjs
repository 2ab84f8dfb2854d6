// SPDX-License-Identifier: MIT
//
// gguf: a model of random weights as a file that llama.cpp loads (GGUF 3): the architecture of llama with one layer, and a vocabulary
// of SentencePiece's form: each byte, and each printable character of ASCII by itself and after a space. What it says is noise
// of the latter, the same for the same text, and never ends by itself.
//
//   writeFileSync(path, makeModel());
const WIDTH = 64;
const HEADS = 4;
const FORWARD = 128;
const CONTEXT = 65536;
const ALIGNMENT = 32;
const TYPE = { u32: 4, i32: 5, f32: 6, text: 8, array: 9 };
const TOKEN = { normal: 1, unknown: 2, control: 3, byte: 6 };
const PRINTABLE = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));

const bytes = (n, write) => {
  const buffer = Buffer.alloc(n);
  buffer[write[0]](write[1]);
  return buffer;
};
const u32 = (value) => bytes(4, ['writeUInt32LE', value]);
const u64 = (value) => bytes(8, ['writeBigUInt64LE', BigInt(value)]);
const text = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const VALUES = { u32, i32: (value) => bytes(4, ['writeInt32LE', value]), f32: (value) => bytes(4, ['writeFloatLE', value]), text };

const entry = (name, type, value) => Buffer.concat([text(name), u32(TYPE[type]), VALUES[type](value)]);
const list = (name, type, values) => Buffer.concat([text(name), u32(TYPE.array), u32(TYPE[type]), u64(values.length), ...values.map(VALUES[type])]);

// Between -1 and 1, the same each time (xorshift).
function newRandom() {
  let state = 2463534242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 31 - 1;
  };
}

function makeVocabulary() {
  const tokens = [['<unk>', TOKEN.unknown], ['<s>', TOKEN.control], ['</s>', TOKEN.control]];
  for (let i = 0; i < 256; i++) tokens.push([`<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`, TOKEN.byte]);
  for (const letter of PRINTABLE) tokens.push([letter, TOKEN.normal], [`▁${letter}`, TOKEN.normal]);
  tokens.push(['▁', TOKEN.normal]);
  return tokens;
}

export function makeModel() {
  const random = newRandom();
  const tokens = makeVocabulary();
  const metadata = [
    entry('general.architecture', 'text', 'llama'),
    entry('llama.context_length', 'u32', CONTEXT),
    entry('llama.embedding_length', 'u32', WIDTH),
    entry('llama.block_count', 'u32', 1),
    entry('llama.feed_forward_length', 'u32', FORWARD),
    entry('llama.rope.dimension_count', 'u32', WIDTH / HEADS),
    entry('llama.attention.head_count', 'u32', HEADS),
    entry('llama.attention.layer_norm_rms_epsilon', 'f32', 1e-5),
    entry('tokenizer.ggml.model', 'text', 'llama'),
    list('tokenizer.ggml.tokens', 'text', tokens.map(([token]) => token)),
    list('tokenizer.ggml.scores', 'f32', tokens.map((_, i) => -i)),
    list('tokenizer.ggml.token_type', 'i32', tokens.map(([, type]) => type)),
    entry('tokenizer.ggml.bos_token_id', 'u32', 1),
    entry('tokenizer.ggml.eos_token_id', 'u32', 2),
    entry('tokenizer.ggml.unknown_token_id', 'u32', 0),
  ];
  const noise = (...sizes) => [sizes, () => random()];
  const ones = [[WIDTH], () => 1];
  const tensors = Object.entries({
    'token_embd.weight': noise(WIDTH, tokens.length),
    'output_norm.weight': ones,
    // Rows of zeros are never the likeliest: neither the end nor parts of characters.
    'output.weight': [[WIDTH, tokens.length], (i) => (tokens[Math.floor(i / WIDTH)][1] === TOKEN.normal ? random() : 0)],
    'blk.0.attn_norm.weight': ones,
    'blk.0.attn_q.weight': noise(WIDTH, WIDTH),
    'blk.0.attn_k.weight': noise(WIDTH, WIDTH),
    'blk.0.attn_v.weight': noise(WIDTH, WIDTH),
    'blk.0.attn_output.weight': noise(WIDTH, WIDTH),
    'blk.0.ffn_norm.weight': ones,
    'blk.0.ffn_gate.weight': noise(WIDTH, FORWARD),
    'blk.0.ffn_up.weight': noise(WIDTH, FORWARD),
    'blk.0.ffn_down.weight': noise(FORWARD, WIDTH),
  });
  const heads = [];
  const bodies = [];
  let offset = 0;
  for (const [name, [sizes, valueOf]] of tensors) {
    const values = Float32Array.from({ length: sizes.reduce((a, b) => a * b) }, (_, i) => valueOf(i));
    const padded = Math.ceil(values.byteLength / ALIGNMENT) * ALIGNMENT;
    heads.push(text(name), u32(sizes.length), ...sizes.map(u64), u32(0), u64(offset)); // 0: 32-bit floats
    bodies.push(Buffer.from(values.buffer), Buffer.alloc(padded - values.byteLength));
    offset += padded;
  }
  const head = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length), ...metadata, ...heads]);
  return Buffer.concat([head, Buffer.alloc(Math.ceil(head.length / ALIGNMENT) * ALIGNMENT - head.length), ...bodies]);
}
