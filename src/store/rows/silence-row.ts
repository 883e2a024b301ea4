import { knownMatcher } from '../../domain/matchers/matcher.ts';
import type { Silence } from '../../domain/muting/silence.ts';
import type { SilenceStore } from '../silence-store.ts';

/** A row of `silence`. */
export interface SilenceRow {
  readonly id: string;
  readonly ends_us: number;
  readonly body: string;
}

/** Silences per read: each may have 20,000 characters. */
const STEP = 128;

/** The first silences at or after this end, and after this id if the end is the same, in this order. */
type PageOf = (endsUs: number, id: string, limit: number) => SilenceRow[] | Promise<SilenceRow[]>;

/** Lists silences page by page, with a `pause` in between. */
export function createSilenceList(pageOf: PageOf, pause: () => Promise<void>): SilenceStore['list'] {
  // Every flush lists them, so silences whose stored text is unchanged are not parsed again.
  let known = new Map<string, { readonly body: string; readonly silence: Silence }>();

  return async (endsAfterUs = -1) => {
    const read: typeof known = new Map();
    let rows = await pageOf(endsAfterUs + 1, '', STEP);
    for (;;) {
      for (const { id, body } of rows) {
        const before = known.get(id);
        read.set(id, before?.body === body ? before : { body, silence: silenceOf(body) });
      }
      const last = rows.at(-1);
      if (!last || rows.length < STEP) break;
      await pause();
      rows = await pageOf(last.ends_us, last.id, STEP);
    }
    known = read;
    return [...read.values()].map(({ silence }) => silence);
  };
}

function silenceOf(body: string): Silence {
  const stored = JSON.parse(body) as Silence;
  return { ...stored, matchers: stored.matchers.map(knownMatcher) };
}
