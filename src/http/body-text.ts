import { setImmediate as turnOfEventLoop } from 'node:timers/promises';

const decoder = new TextDecoder();

/** Bytes that are decoded at once: what is no UTF-8 takes some ten times as long as what is. */
const DECODED_AT_ONCE = 2 ** 20;

/** UTF-8 as text, decoded a part at a time: between two of them the event loop turns. */
export async function bodyText(bytes: Uint8Array): Promise<string> {
  // Most answers to what is posted are empty, and for those a decoder costs as much as for a page.
  if (bytes.length === 0) return '';
  if (bytes.length <= DECODED_AT_ONCE) return decoder.decode(bytes);
  // It remembers a character that is cut in two.
  const own = new TextDecoder();
  const parts: string[] = [];
  for (let from = 0; from < bytes.length; from += DECODED_AT_ONCE) {
    parts.push(own.decode(bytes.subarray(from, from + DECODED_AT_ONCE), { stream: true }));
    await turnOfEventLoop();
  }
  return parts.join('') + own.decode();
}
