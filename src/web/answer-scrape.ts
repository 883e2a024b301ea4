/** `GET /metrics`: Prometheus' text, or OpenMetrics where it is asked for, packed for whoever takes it packed. */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** Asks for all metrics. Rejects while nothing was answered yet; the text then comes in parts. */
export type Scrape = (format: 'text' | 'openmetrics') => Promise<{
  readonly contentType: string;
  readonly body: Iterable<string> | AsyncIterable<string>;
}>;

/** With 10,000 Birds this keeps below a megabyte; higher levels take half as long again for a tenth less. */
const GZIP_LEVEL = 4;
/** Of what is packed in one piece: each is handed on by itself, which takes as long whatever its size. */
const PACKED_BYTES = 65_536;

const OPENMETRICS = 'application/openmetrics-text';

/** `failed` hears of what fails once the text has begun. */
export async function answerScrape(
  c: Context,
  scrape: Scrape,
  failed: (error: unknown) => void,
): Promise<Response> {
  const type = accepts(c, { header: 'Accept', supports: [OPENMETRICS, 'text/plain'], default: 'text/plain' });
  const packing = accepts(c, {
    header: 'Accept-Encoding',
    supports: ['gzip', 'identity'],
    default: 'identity',
  });
  const { contentType, body } = await scrape(type === OPENMETRICS ? 'openmetrics' : 'text');
  const text = Readable.from(heard(body, failed), { objectMode: false });
  const isPacked = packing === 'gzip';
  // What ends early or fails ends both; whoever asked then sees a connection that was cut.
  const sent = isPacked
    ? pipeline(text, createGzip({ level: GZIP_LEVEL, chunkSize: PACKED_BYTES }), () => {})
    : text;
  return c.body(Readable.toWeb(sent) as ReadableStream<Uint8Array>, 200, {
    'content-type': contentType,
    vary: 'Accept, Accept-Encoding',
    ...(isPacked && { 'content-encoding': 'gzip' }),
  });
}

/**
 * Keeps the words of a failure from the library that serves it, which prints them. Who asked and leaves in the middle
 * is thrown in at the `yield`: that is no failure of ours.
 */
async function* heard(
  body: Iterable<string> | AsyncIterable<string>,
  failed: (error: unknown) => void,
): AsyncGenerator<string> {
  const isAsync = typeof body === 'object' && Symbol.asyncIterator in body;
  const parts = isAsync ? body[Symbol.asyncIterator]() : body[Symbol.iterator]();
  let isOver = false;
  try {
    for (;;) {
      const part = await next(parts, failed);
      isOver = part.done === true;
      if (part.done) return;
      yield part.value;
    }
  } finally {
    if (!isOver) await parts.return?.();
  }
}

async function next(
  parts: Iterator<string> | AsyncIterator<string>,
  failed: (error: unknown) => void,
): Promise<IteratorResult<string>> {
  try {
    return await parts.next();
  } catch (error) {
    failed(error);
    throw new Error('A scrape failed half way and was cut off.');
  }
}
