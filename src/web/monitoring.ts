/** Answers what watches the process: health and readiness for its supervisor, `/metrics` for Prometheus. */
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { Context, Hono } from 'hono';
import { accepts } from 'hono/accepts';
import type { HealthAnswer } from '../health/health.ts';
import type { Store } from '../store/store.ts';
import type { Admission } from './access/admission.ts';
import { faultJson, impairmentJson } from './api/alert-json.ts';
import { kept } from './bounded-work.ts';
import type { Health, Scrape, WebOptions } from './web-options.ts';

/** The most faults listed. */
const SHOWN_FAULTS = 100;

/** The supervisor of the process requests these. They are answered even if many other requests are waiting. */
export const HEALTH_PATHS: ReadonlySet<string> = new Set(['/-/healthy', '/healthz', '/-/ready', '/readyz']);

const KEPT_MS = 1_000;

/** Each is read at most once a second, however many ask, so that nobody has to wait for other requests. */
export interface KeptHealth {
  readonly health: () => Promise<Health>;
  readonly impairments: () => Promise<HealthAnswer>;
  readonly setAside: () => Promise<SetAside>;
}

interface SetAside {
  readonly named: readonly object[];
  readonly counted: readonly object[];
}

/**
 * `store` and `impairments` must be those before the gate (`bounded-work.ts`): a supervisor must be answered even while
 * people's requests wait.
 */
export function keepHealth({ health, impairments, store, clock, report }: WebOptions): KeptHealth {
  return {
    health: kept(clock, KEPT_MS, async () => health()),
    impairments: kept(clock, KEPT_MS, impairments),
    setAside: kept(clock, KEPT_MS, () =>
      readSetAside(store, clock.nowUs()).catch((error: unknown) => {
        // Faults are unknown while the store does not answer.
        report({ what: 'trouble', stage: 'store', error });
        return { named: [], counted: [] };
      }),
    ),
  };
}

function readSetAside(store: Store, nowUs: number): Promise<SetAside> {
  return store.transaction(async ({ faults }) => ({
    named: (await faults.list(nowUs, SHOWN_FAULTS)).map(faultJson),
    counted: await faults.count(nowUs),
  }));
}

/** Open to everybody, since a supervisor must not need a token. `details` are for those who ask for JSON. */
export function addHealth(
  app: Hono,
  health: () => Promise<Health>,
  details: (c: Context) => Promise<object>,
): void {
  const code = (isGood: boolean) => (isGood ? 200 : 503);
  for (const path of ['/-/healthy', '/healthz']) {
    app.get(path, async (c) => {
      const { healthy, reasons } = await health();
      return c.text(healthy ? 'Healthy.\n' : lines('Not healthy.', reasons), code(healthy));
    });
  }
  for (const path of ['/-/ready', '/readyz']) {
    app.get(path, async (c) => {
      const found = await health();
      const { ready, reasons } = found;
      if (/\bapplication\/json\b/.test(c.req.header('accept') ?? '')) {
        return c.json({ ...found, ...(await details(c)) }, code(ready));
      }
      return c.text(ready ? 'Ready.\n' : lines('Not ready.', reasons), code(ready));
    });
  }
}

/** What impairs the watch and what was set aside. Names are only included for those who may read. */
export async function healthDetails(c: Context, kept: KeptHealth, admission: Admission) {
  const isOpen = await admission.mayRead(c);
  const { impairments } = await kept.impairments();
  const { named, counted } = await kept.setAside();
  return {
    impairments: isOpen
      ? impairments.map(impairmentJson)
      : [...new Set(impairments.map(({ reason }) => reason))],
    set_aside: isOpen ? named : counted,
  };
}

export const lines = (first: string, rest: readonly string[]) => `${[first, ...rest].join('\n')}\n`;

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
  let isWithClient = false;
  try {
    for await (const part of body) {
      isWithClient = true;
      yield part;
      isWithClient = false;
    }
  } catch (error) {
    if (isWithClient) throw error;
    failed(error);
    throw new Error('A scrape failed half way and was cut off.');
  }
}
