/** Judges the watch of one region. If the region does not answer, that explains everything else that is late in it. */

import type { RegionSnapshot } from '../region-progress.ts';
import { plainText } from '../text/plain-text.ts';
import { type Impairment, impairment } from './impairment.ts';

interface Bounds {
  readonly nowUs: number;
  /** After this time a feed that is proven at each audit is not proven any more. */
  readonly proofMs: number;
  readonly replicas: readonly unknown[];
}

/** Smaller differences between clocks do no harm: answers take seconds, and `Date` headers have whole seconds. */
const MOST_SKEW_US = 60e6;

/** How long after a start unproven feeds are expected. */
const EARLY_US = 1800e6;

/** Flights are not audited. Instead, a Bird's polls look a day back once an hour (`flight-rescan.ts`). */
const FLIGHTS_PROVEN_EVERY_US = 3600e6;

/** If this share of a feed's streams is overdue, the feed as a whole counts as unread. */
const MOST_OF_A_FEED = 1 / 2;

const MAX_REASON_LENGTH = 300;
const MAX_GLOBS = 5;
const MAX_GLOB_LENGTH = 80;

/** The impairments of one region, in no particular order. */
export function judgeRegion(region: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (region.health.health !== 'up') return [unreachable(region, bounds)];
  return [
    ...(region.unlisted ? [unlisted(region, region.unlisted)] : firstPass(region, bounds)),
    ...noBirds(region, bounds),
    ...overdue(region, bounds),
    ...unproven(region, bounds),
    ...wrongClock(region, bounds),
  ];
}

function unreachable({ region, health }: RegionSnapshot, { nowUs }: Bounds): Impairment {
  const reason = health.health === 'down' ? 'region_down' : 'region_unauthorized';
  const facts = { region, said: plainText(health.reason, MAX_REASON_LENGTH) };
  const sinceUs = health.sinceUs || nowUs;
  return impairment(
    { sort: reason, facts },
    { reason, region, severity: 'critical', sinceUs, stopsHeartbeat: true },
  );
}

/** Replaces `first_pass`, since it explains why the first reading has not finished. */
function unlisted(
  { region, birds, beganUs }: RegionSnapshot,
  { what, said, address }: NonNullable<RegionSnapshot['unlisted']>,
): Impairment {
  const facts = {
    region,
    what,
    said: plainText(said, MAX_REASON_LENGTH),
    address: plainText(address, MAX_REASON_LENGTH),
    known: birds,
  };
  const rest = {
    region,
    path: `regions.${region}.base_url`,
    severity: 'critical',
    sinceUs: beganUs,
  } as const;
  return impairment(
    { sort: 'unlisted', facts },
    { reason: 'inventory_failing', ...rest, stopsHeartbeat: true },
  );
}

function firstPass(
  { region, beganUs, firstPass: pass, started }: RegionSnapshot,
  { nowUs }: Bounds,
): Impairment[] {
  if (!pass) return [];
  const { streams, read } = pass;
  const leftUs = read > 0 ? ((nowUs - beganUs) / read) * (streams - read) : 0;
  const untilUs = leftUs > 60e6 ? nowUs + leftUs : undefined;
  const progress = started && streams > 0 ? { read, streams, untilUs } : undefined;
  return [
    impairment(
      { sort: 'first_pass', facts: { region, progress } },
      // The first reading of a large region takes an hour, which should wake nobody. Until the region was listed,
      // though, the watch is worth nothing.
      { reason: 'first_pass', region, severity: 'info', sinceUs: beganUs, stopsHeartbeat: !started },
    ),
  ];
}

function noBirds(snapshot: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  const { region, started, birds, nests, excludedNests, include } = snapshot;
  // Known Birds count as gone only at the second reading, but Birds of Nests that the configuration excludes at once.
  const areLeftOut = nests === 0 && excludedNests > 0;
  if (!started || (birds > 0 && !areLeftOut)) return [];
  const globs = include
    .slice(0, MAX_GLOBS)
    .map((glob) => JSON.stringify(plainText(glob, MAX_GLOB_LENGTH)))
    .join(', ');
  const path = `regions.${region}.nests`;
  return [
    impairment(
      { sort: 'no_birds', facts: { region, nests, excludedNests, globs } },
      { reason: 'no_birds', region, path, severity: 'critical', sinceUs: nowUs, stopsHeartbeat: true },
    ),
  ];
}

function overdue({ region, reads }: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  return reads
    .filter((one) => one.overdue > 0)
    .map(({ feed, streams, overdue: late, oldestReadUs }) => {
      const isWhole = late >= streams * MOST_OF_A_FEED;
      const oldestMs = oldestReadUs > 0 ? (nowUs - oldestReadUs) / 1000 : undefined;
      return impairment(
        { sort: 'overdue', facts: { region, feed, streams, late, oldestMs } },
        {
          reason: 'streams_overdue',
          region,
          feed,
          severity: isWhole ? 'critical' : 'warning',
          sinceUs: oldestReadUs || nowUs,
          stopsHeartbeat: isWhole,
        },
      );
    });
}

/** Streams that were never read are not proven either; `first_pass` says so already. */
function unproven(snapshot: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (snapshot.firstPass) return [];
  const { nowUs, proofMs } = bounds;
  const late = snapshot.proofs.filter(({ feed, verifiedUntilUs }) => {
    const everyUs = feed === 'flight' ? FLIGHTS_PROVEN_EVERY_US : 0;
    return nowUs - verifiedUntilUs > everyUs + proofMs * 1000;
  });
  // Audits begin when everything was read, and take a while.
  const isEarly = nowUs - snapshot.beganUs < EARLY_US;
  return isEarly
    ? beingProven(snapshot, late)
    : late.map((proof) => notProven(snapshot.region, proof, nowUs));
}

type Proof = RegionSnapshot['proofs'][number];

function beingProven({ region, beganUs }: RegionSnapshot, late: readonly Proof[]): Impairment[] {
  if (late.length === 0) return [];
  const rest = { region, severity: 'info', sinceUs: beganUs, stopsHeartbeat: false } as const;
  return [impairment({ sort: 'being_proven', facts: { region } }, { reason: 'feed_unproven', ...rest })];
}

function notProven(region: string, { feed, verifiedUntilUs }: Proof, nowUs: number): Impairment {
  const facts = { region, feed, sinceUs: verifiedUntilUs || undefined };
  const sinceUs = verifiedUntilUs || nowUs;
  const rest = { region, feed, severity: 'warning', sinceUs, stopsHeartbeat: false } as const;
  return impairment({ sort: 'not_proven', facts }, { reason: 'feed_unproven', ...rest });
}

function wrongClock({ region, clockAheadUs }: RegionSnapshot, { nowUs, replicas }: Bounds): Impairment[] {
  if (Math.abs(clockAheadUs) <= MOST_SKEW_US) return [];
  const isServers = replicas.length > 0;
  const facts = { region, isServers, byMs: Math.abs(clockAheadUs) / 1000, isBehind: clockAheadUs > 0 };
  const rest = { region, severity: 'warning', sinceUs: nowUs, stopsHeartbeat: false } as const;
  return [impairment({ sort: 'clock_wrong', facts }, { reason: 'clock_wrong', ...rest })];
}
