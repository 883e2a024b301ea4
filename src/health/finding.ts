/**
 * Defines findings: observations about the watch, as facts. `finding-words.ts` says them in
 * sentences.
 */
import type { Feed } from '../domain/alert/event.ts';

/** Texts from outside are already cleaned and cut. */
interface Findings {
  readonly store_full: object;
  readonly store_fails: { readonly message: string };
  readonly store_away: { readonly message: string };
  readonly disk_low: { readonly freeMib: number; readonly usedMib: number };
  readonly nobody_notified: object;
  readonly dead_end: { readonly receiver: string; readonly path: string };
  /**
   * `first` is the first mistake with its place. `replicas` names the replicas that refuse the file; empty without
   * replicas.
   */
  readonly config_refused: {
    readonly mistakes: number;
    readonly first: string;
    readonly replicas: string;
    readonly many: boolean;
  };
  /** The file of the secret at `path` cannot be read again; `problem` names the file and says why. */
  readonly secret_unread: { readonly path: string; readonly problem: string };
  /** `replicas` use another configuration than `newest`, the replica that loaded its configuration last. */
  readonly configs_differ: { readonly replicas: string; readonly many: boolean; readonly newest: string };
  /**
   * `integration` names the one that has failed longest, `failures` times in a row; `others` names the others that
   * fail, empty for none. `failing` of the receiver's integrations fail, `among` is how many it has.
   */
  readonly receiver_failing: {
    readonly receiver: string;
    readonly integration: string;
    readonly others: string;
    readonly failing: number;
    readonly among: number;
    readonly failures: number;
    readonly lastError: string;
  };
  readonly deliveries_dead: { readonly receiver: string; readonly count: number };
  readonly quarantined: OfRegion & { readonly feed: Feed | 'inventory'; readonly count: number };
  readonly set_aside: { readonly count: number; readonly first: string };
  readonly region_down: OfRegion & { readonly said: string };
  readonly region_unauthorized: OfRegion & { readonly said: string };
  /** `known` counts the Birds known from before the start. `address` is the service's, as configured. */
  readonly unlisted: OfRegion & {
    readonly what: 'Nests' | 'Birds';
    readonly said: string;
    readonly address: string;
    readonly known: number;
  };
  /** `progress` is undefined until the streams are counted. `untilUs` is its estimated end, if it can be estimated. */
  readonly first_pass: OfRegion & {
    readonly progress:
      | { readonly read: number; readonly streams: number; readonly untilUs: number | undefined }
      | undefined;
  };
  /** `globs` are some of the `nests.include` patterns. */
  readonly no_birds: OfRegion & {
    readonly nests: number;
    readonly excludedNests: number;
    readonly globs: string;
  };
  /** `oldestMs` is the age of the oldest reading; undefined if something was never read. */
  readonly overdue: OfRegion & {
    readonly feed: Feed | 'inventory';
    readonly streams: number;
    readonly late: number;
    readonly oldestMs: number | undefined;
  };
  readonly being_proven: OfRegion;
  /** `sinceUs` is undefined if it was never proven. */
  readonly not_proven: OfRegion & { readonly feed: Feed; readonly sinceUs: number | undefined };
  readonly clock_wrong: OfRegion & {
    /** True with replicas: they date everything by the clock of the store's server. */
    readonly isServers: boolean;
    readonly byMs: number;
    readonly isBehind: boolean;
  };
}

interface OfRegion {
  /** As named in the configuration. */
  readonly region: string;
}

export type Finding = {
  readonly [Sort in keyof Findings]: { readonly sort: Sort; readonly facts: Findings[Sort] };
}[keyof Findings];

/** A finding in words. */
export interface Said {
  /** A headline of a few words, without a full stop. */
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  /** What a person can do, in one or two sentences. */
  readonly action: string;
}

/** The words of a language for each finding; `instant` formats an instant. */
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
