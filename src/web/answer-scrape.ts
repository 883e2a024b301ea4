/**
 * Answers `GET /metrics` with Prometheus' text format, or OpenMetrics if requested, compressed if the client accepts
 * that.
 */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** Renders all metrics, in parts. Rejects only before the first part. */
export type Scrape = (format: 'text' | 'openmetrics') => Promise<{
  readonly contentType: string;
  readonly body: Iterable<string> | AsyncIterable<string>;
}>;

/** With 10,000 Birds this stays below a megabyte. Higher levels take half as long again for a tenth less. */
const GZIP_LEVEL = 4;
/** The size of the compressed parts. Each part has a fixed cost, whatever its size. */
const PACKED_BYTES = 65_536;

const OPENMETRICS = 'application/openmetrics-text';

/** `failed` is called if something fails after the text has begun. */
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
  // If one side ends early or fails, so does the other. The client then sees a truncated connection.
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
 * Reports a failure and ends the body, since the server library would print the error. If the client leaves early, an
 * error is thrown at the `yield`; that is not our failure.
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
