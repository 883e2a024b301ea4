/**
 * Findings: what was seen of the watch, as facts. A language puts each in words: English here in `health/`, for logs,
 * commands and the API; the others in the catalogues of the pages.
 */
import type { Feed } from '../domain/alert/event.ts';

/** Texts from outside are cleaned and cut already. */
export interface Findings {
  readonly store_full: object;
  readonly store_fails: { readonly message: string };
  readonly store_away: { readonly message: string };
  readonly disk_low: { readonly freeMib: number; readonly usedMib: number };
  readonly nobody_notified: object;
  readonly dead_end: { readonly receiver: string; readonly path: string };
  /** `first` is the first mistake, with its place; `replicas` names those that refuse, empty where there are none. */
  readonly config_refused: {
    readonly mistakes: number;
    readonly first: string;
    readonly replicas: string;
    readonly many: boolean;
  };
  /** `replicas` use another configuration than `newest`, which has read its own last. */
  readonly configs_differ: { readonly replicas: string; readonly many: boolean; readonly newest: string };
  readonly receiver_failing: {
    readonly receiver: string;
    readonly integration: string;
    readonly failures: number;
    readonly lastError: string;
  };
  readonly deliveries_dead: { readonly receiver: string; readonly count: number };
  readonly quarantined: OfRegion & { readonly feed: Feed | 'inventory'; readonly count: number };
  readonly set_aside: { readonly count: number; readonly first: string };
  readonly region_down: OfRegion & { readonly said: string };
  readonly region_unauthorized: OfRegion & { readonly said: string };
  /** `known` Birds are those of an earlier life; `address` is that of the service, as it is configured. */
  readonly unlisted: OfRegion & {
    readonly what: 'Nests' | 'Birds';
    readonly said: string;
    readonly address: string;
    readonly known: number;
  };
  /** Streams, once they are counted; `untilUs` where that can be foreseen. */
  readonly first_pass: OfRegion & {
    readonly progress:
      | { readonly read: number; readonly streams: number; readonly untilUs: number | undefined }
      | undefined;
  };
  /** `globs` are some of those that say which Nests are watched. */
  readonly no_birds: OfRegion & {
    readonly nests: number;
    readonly excludedNests: number;
    readonly globs: string;
  };
  /** `oldestMs` is how old the oldest reading is; undefined where something was never read. */
  readonly overdue: OfRegion & {
    readonly feed: Feed | 'inventory';
    readonly streams: number;
    readonly late: number;
    readonly oldestMs: number | undefined;
  };
  readonly being_proven: OfRegion;
  /** `sinceUs` is undefined where it was never proven. */
  readonly not_proven: OfRegion & { readonly feed: Feed; readonly sinceUs: number | undefined };
  readonly clock_wrong: OfRegion & {
    /** Replicas date everything by the clock of their store's server. */
    readonly isServers: boolean;
    readonly byMs: number;
    readonly isBehind: boolean;
  };
}

interface OfRegion {
  /** As the configuration names it. */
  readonly region: string;
}

export type Finding = {
  readonly [Sort in keyof Findings]: { readonly sort: Sort; readonly facts: Findings[Sort] };
}[keyof Findings];

/** A finding in words. */
export interface Said {
  /** A few words for a headline, without a full stop. */
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  /** What a person can do, in one or two sentences. */
  readonly action: string;
}

/** What a language says of each finding; `instant` puts an instant in words. */
export type FindingWords = {
  readonly [Sort in keyof Findings]: (facts: Findings[Sort], instant: (us: number) => string) => Said;
};

export function sayFinding<Sort extends keyof Findings>(
  words: FindingWords,
  { sort, facts }: { readonly sort: Sort; readonly facts: Findings[Sort] },
  instant: (us: number) => string,
): Said {
  return words[sort](facts, instant);
}
