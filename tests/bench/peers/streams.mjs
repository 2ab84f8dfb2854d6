// SPDX-License-Identifier: MIT
//
// streams: what the answers of a peer say, when their pieces are due, and what has come of them: the same streams, rate and
// pieces as `parley bench --mode tokens`, where a token is three letters and a space, too.
const LETTERS = 26;
const TOKEN_BYTES = 4;

const letter = (n) => String.fromCharCode(97 + (n % LETTERS));

// Token `i` of stream `k`.
function token(k, i) {
  const n = (k * 7919 + i * 104729) % LETTERS ** 3;
  return `${letter(n)}${letter(Math.floor(n / LETTERS))}${letter(Math.floor(n / LETTERS ** 2))} `;
}

// Piece `i` of stream `k`, as an event, and how many characters of text it brings.
const pieceText = (k, i, perPiece) => Array.from({ length: perPiece }, (_, j) => token(k, i * perPiece + j)).join('');
export const asEvent = (text) => `data: ${JSON.stringify({ text })}\n\n`;
export const pieceChars = (perPiece) => perPiece * TOKEN_BYTES;

// Calls send(k, text) for each piece that is due: each stream at its rate, the streams at different moments. Returns a function
// that stops it.
export function pace({ streams, rate, perPiece }, send) {
  const stepMs = (1000 * perPiece) / (rate * streams);
  const begun = performance.now();
  let due = 0;
  const timer = setInterval(() => {
    for (; begun + due * stepMs <= performance.now(); due++) {
      const k = due % streams;
      send(k, pieceText(k, Math.floor(due / streams), perPiece));
    }
  }, 1);
  return () => clearInterval(timer);
}

// A reader of events: feed(chunk) calls onText with the text of each event.
export function eventReader(onText) {
  let rest = '';
  return (chunk) => {
    rest += chunk;
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      if (rest.startsWith('data: ')) onText(JSON.parse(rest.slice(6, end)).text);
    }
  };
}
