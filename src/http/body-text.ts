import { setImmediate as turnOfEventLoop } from 'node:timers/promises';

const decoder = new TextDecoder();

/** How many bytes are decoded at once. Invalid UTF-8 takes about ten times as long to decode as valid UTF-8. */
const DECODED_AT_ONCE = 2 ** 20;

/** Decodes UTF-8 in parts, and lets the event loop turn between them. */
export async function bodyText(bytes: Uint8Array): Promise<string> {
  // Most answers to a POST are empty, and creating a decoder for one costs as much as for a page.
  if (bytes.length === 0) return '';
  if (bytes.length <= DECODED_AT_ONCE) return decoder.decode(bytes);
  // A streaming decoder keeps a character that is cut in two.
  const own = new TextDecoder();
  const parts: string[] = [];
  for (let from = 0; from < bytes.length; from += DECODED_AT_ONCE) {
    parts.push(own.decode(bytes.subarray(from, from + DECODED_AT_ONCE), { stream: true }));
    await turnOfEventLoop();
  }
  return parts.join('') + own.decode();
}
