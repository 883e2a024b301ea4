/**
 * A region that this replica reads while it owns it. What it looks like meanwhile, everybody may ask at any replica: the
 * owner shows it every few seconds in the store, and the others answer by that. By that they also know whether the owner
 * reaches it (`relief.ts`).
 */
import type { RegionSetting, WatchedRegion } from '../intake/watched-region.ts';
import type { Report } from '../report.ts';
import { regionDuty } from '../store/ownership-store.ts';
import type { Store, Wakes } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Ownership } from './ownership.ts';
import { type ReaderStanding, relieve } from './relief.ts';

type Snapshot = ReturnType<WatchedRegion['snapshot']>;

/** Another version, which may show other things, has another number: what it shows is not taken for something else. */
const SHAPE = 1;

/** What the owner of a region shows. */
interface ShownRegion {
  readonly shape: number;
  readonly snapshot: Snapshot;
  /** When the last successful reading of each Bird's Flights began. */
  readonly flightsReadUs: Readonly<Record<string, number>>;
}

interface OwnedRegionOptions {
  readonly setting: RegionSetting;
  readonly ownership: Ownership;
  /** Begins to read it; at this rate, where one is known. */
  readonly create: (store: Store, startPerSecond: number | undefined) => WatchedRegion;
  /** Whether its service answers this replica. */
  readonly reaches: (signal: AbortSignal) => Promise<boolean>;
  readonly wakes: Pick<Wakes, 'ring'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** One that was taken from whoever did not reach it is not given away for evenness, since it may fall to that one. */
const KEPT_MS = 6 * 3_600_000;

/** What the service bore so long ago may say nothing of now; what is kept for a later life does (`kept-rate.ts`). */
const RATE_KEPT_US = 120e6;

export function createOwnedRegion(options: OwnedRegionOptions): WatchedRegion {
  const { setting, ownership, create, reaches, wakes, clock, random, report } = options;
  const { name } = setting.region;
  const duty = regionDuty(name);
  let own: WatchedRegion | undefined;
  let keptUntilMs = Number.NEGATIVE_INFINITY;
  let parsed: { readonly text: string; readonly shown: ShownRegion } | undefined;

  /** As its last owner has shown it; undefined before anybody of a version that shows the same has. */
  function shown(): ShownRegion | undefined {
    const text = ownership.shown(duty)?.shown;
    if (text === undefined) return undefined;
    if (parsed?.text !== text) parsed = { text, shown: JSON.parse(text) as ShownRegion };
    return parsed.shown.shape === SHAPE ? parsed.shown : undefined;
  }

  /** The rate at which it was read until just now: whoever takes over neither hammers the service nor begins anew. */
  function lateRate(): number | undefined {
    const { shownUs = 0 } = ownership.shown(duty) ?? {};
    const isLate = (ownership.view()?.nowUs ?? 0) - shownUs < RATE_KEPT_US;
    return (isLate && shown()?.snapshot.requestsPerSecond) || undefined;
  }

  /** How it stands, as this replica sees it while it reads it. */
  function seen(): Snapshot | undefined {
    return own?.snapshot();
  }

  function show() {
    const snapshot = seen();
    if (!own || !snapshot) return { weight: 0, shown: '' };
    const streams = snapshot.feeds.reduce((sum, { polled }) => sum + polled, 0);
    const flightsReadUs = Object.fromEntries(own.flightReads());
    return { weight: 1 + streams, shown: JSON.stringify({ shape: SHAPE, snapshot, flightsReadUs }) };
  }

  /** Only who reads a region may ask its service: two together would ask for more than it bears. */
  function whomToAsk(): string {
    const { duties = [], replicas = [] } = ownership.view() ?? {};
    const owner = duties.find((one) => one.duty === duty)?.owner;
    const reader = replicas.find(({ replica }) => replica === owner);
    return reader
      ? `Replica ${reader.name} reads this region: ask for the log at its own address.`
      : 'No replica reads this region now: ask again in a moment.';
  }

  /** How the replica that reads it stands to its service, where that is in trouble. */
  function standing(): ReaderStanding | undefined {
    const { nowUs = 0, duties = [] } = ownership.view() ?? {};
    const owned = duties.find((one) => one.duty === duty);
    const { shownUs = 0 } = ownership.shown(duty) ?? {};
    const now = shown()?.snapshot;
    if (!now || !owned || owned.owner === 0 || ownership.owns(duty)) return undefined;
    if (now.health.health === 'up' && !now.unlisted) return undefined;
    const troubleUs = now.health.health === 'up' ? now.beganUs : now.health.sinceUs;
    return { sinceUs: Math.max(troubleUs, owned.sinceUs), shownUs, nowUs, epoch: owned.epoch };
  }

  async function takeOver({ epoch }: ReaderStanding): Promise<void> {
    if (!(await ownership.takeOver({ duty, epoch }))) return;
    keptUntilMs = clock.monotonicMs() + KEPT_MS;
    report({ what: 'relieves', region: name });
  }

  const snapshot = () => seen() ?? shown()?.snapshot ?? notShown(setting);

  return {
    name,
    setting,
    async run(signal) {
      const failed = (error: unknown) => report({ what: 'trouble', stage: 'store', region: name, error });
      const relieving = relieve(
        { clock, random, standing, reaches, answered: () => wakes.ring(`probe ${name}`), takeOver },
        signal,
        failed,
      );
      await ownership.whileOwned(
        {
          duty,
          region: name,
          get isFixed() {
            return clock.monotonicMs() < keptUntilMs;
          },
          show,
          async run(owned, store) {
            const region = create(store, lateRate());
            own = region;
            try {
              await region.run(owned);
            } finally {
              own = undefined;
            }
          },
        },
        signal,
      );
      await relieving;
    },
    runOnce: () => Promise.reject(new Error('a region that several replicas share is read by its owner')),
    probe: () => own?.probe(),
    flightLog: async (place) => (await own?.flightLog(place)) ?? { refused: whomToAsk() },
    flightsReadUs(birdId) {
      if (own) return own.flightsReadUs(birdId);
      const reads = shown()?.flightsReadUs ?? {};
      return Object.hasOwn(reads, birdId) ? reads[birdId] : undefined;
    },
    flightReads: () => own?.flightReads() ?? Object.entries(shown()?.flightsReadUs ?? {}),
    serviceAheadUs: () => own?.serviceAheadUs() ?? shown()?.snapshot.clockAheadUs ?? 0,
    progress: snapshot,
    snapshot,
    verified: () => ({ region: name, verifiedUntilUs: verifiedUntilUs(snapshot()) }),
  };
}

/** Feeds without anything to poll prove nothing and miss nothing. */
function verifiedUntilUs({ feeds }: Snapshot): number {
  return Math.min(...feeds.filter((one) => one.polled > 0).map((one) => one.verifiedUntilUs));
}

/** Nobody has read it yet, or nobody who shares this store. */
function notShown({ region }: RegionSetting): Snapshot {
  return {
    region: region.name,
    health: { health: 'up', reason: '', sinceUs: 0 },
    requestsPerSecond: 0,
    nests: 0,
    birds: 0,
    started: false,
    auditsBehindMs: 0,
    feeds: [],
    reads: [],
    excludedNests: 0,
    include: region.nests.include,
    clockAheadUs: 0,
    beganUs: 0,
    firstPass: { streams: 0, read: 0 },
    proofs: [],
  };
}
