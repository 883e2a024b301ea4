/** What impairs the watch of one region. A region that does not answer explains all else that is late in it. */
import { howMany } from '../text/counts.ts';
import { durationWords } from '../text/duration-words.ts';
import { dayAndTime } from '../text/instant-words.ts';
import { plainText } from '../text/plain-text.ts';
import { regionName } from '../text/region-name.ts';
import type { Impairment } from './impairment.ts';
import type { RegionSnapshot } from './snapshot.ts';

interface Bounds {
  readonly nowUs: number;
  readonly proofMs: number;
}

/** Clocks that differ by less do no harm: answers take seconds, and `Date` headers know only whole ones. */
const MOST_SKEW_US = 60e6;

/** For so long after a start it is no trouble that something is not proven yet. */
const EARLY_US = 1800e6;

/** From that part of a feed's streams on the feed as a whole is not read. */
const MOST_OF_A_FEED = 1 / 2;

const MAX_REASON_LENGTH = 300;
const MAX_GLOBS = 5;
const MAX_GLOB_LENGTH = 80;

const FEED_WORDS = {
  inventory: 'The inventory',
  notification: 'The notifications',
  bird_log: 'The Bird logs',
  flight: 'The Flights',
} as const;

/** Those of a region, in no order. */
export function judgeRegion(region: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (region.health.health !== 'up') return [unreachable(region, bounds)];
  return [
    ...firstPass(region, bounds),
    ...noBirds(region, bounds),
    ...overdue(region, bounds),
    ...unproven(region, bounds),
    ...wrongClock(region, bounds),
  ];
}

function unreachable({ region, health }: RegionSnapshot, { nowUs }: Bounds): Impairment {
  const name = regionName(region);
  const reason = plainText(health.reason, MAX_REASON_LENGTH);
  const common = {
    region,
    severity: 'critical',
    sinceUs: health.sinceUs || nowUs,
    stopsHeartbeat: true,
  } as const;
  return health.health === 'down'
    ? {
        ...common,
        reason: 'region_down',
        title: `${name} is down`,
        summary: `${name} does not answer: ${reason}${ended(reason)}`,
        action: `Check regions.${region}.base_url and the way there. It is probed until it answers, and all that was missed is read then.`,
      }
    : {
        ...common,
        reason: 'region_unauthorized',
        title: `${name} refuses the token`,
        summary: `${name} refuses the token: ${reason}${ended(reason)}`,
        action: `Make a new API token as an organisation admin, and put it in the place of regions.${region}.token. All that was missed is read then.`,
      };
}

/** The full stop of a sentence that may have brought its own. */
function ended(text: string): string {
  return /[.!?…]$/.test(text) ? '' : '.';
}

function firstPass(
  { region, beganUs, firstPass: pass, started }: RegionSnapshot,
  { nowUs }: Bounds,
): Impairment[] {
  if (!pass) return [];
  const name = regionName(region);
  const isCounted = started && pass.streams > 0;
  const left = pass.streams - pass.read;
  const leftUs = pass.read > 0 ? ((nowUs - beganUs) / pass.read) * left : 0;
  const until = leftUs > 60e6 ? `, done at about ${dayAndTime(nowUs + leftUs)}` : '';
  const progress = isCounted
    ? `${pass.read} of ${howMany(pass.streams, 'stream')} read${until}`
    : 'its Nests and Birds are being listed';
  return [
    {
      reason: 'first_pass',
      region,
      severity: 'info',
      sinceUs: beganUs,
      title: `first reading of ${name} under way`,
      summary: `The first reading of ${name} since the start is under way: ${progress}.`,
      action: 'Wait: until then something may have happened that was not seen yet.',
      // A large region takes an hour, for which nobody should be woken; one that is never listed is no watch.
      stopsHeartbeat: !started,
    },
  ];
}

function noBirds(snapshot: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  const { region, started, birds, nests, excludedNests, include } = snapshot;
  if (!started || birds > 0) return [];
  const name = regionName(region);
  const globs = include
    .slice(0, MAX_GLOBS)
    .map((glob) => JSON.stringify(plainText(glob, MAX_GLOB_LENGTH)))
    .join(', ');
  const [why, action] =
    nests > 0
      ? [`its ${howMany(nests, 'Nest')} have no Birds`, 'If it should have some, check whose token it is.']
      : excludedNests > 0
        ? [
            `of its ${howMany(excludedNests, 'Nest')} none fits nests.include (${globs}) and is not excluded`,
            `Correct regions.${region}.nests: globs fit a Nest's name or id, and case counts.`,
          ]
        : ['it lists no Nest', 'Check whose token it is: it must be of an organisation admin.'];
  return [
    {
      reason: 'no_birds',
      region,
      path: `regions.${region}.nests`,
      severity: 'critical',
      sinceUs: nowUs,
      title: `no Bird is watched in ${name}`,
      summary: `No Bird is watched in ${name}: ${why}.`,
      action,
      stopsHeartbeat: true,
    },
  ];
}

function overdue({ region, reads }: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  return reads
    .filter((one) => one.overdue > 0)
    .map(({ feed, streams, overdue: late, oldestReadUs }) => {
      const name = regionName(region);
      const worst = oldestReadUs > 0 ? durationWords((nowUs - oldestReadUs) / 1000, 'one unit') : undefined;
      const which = streams === 1 ? FEED_WORDS[feed] : `${FEED_WORDS[feed]} of ${late} of ${streams} Birds`;
      const age = worst ? `the oldest reading is ${worst} old` : 'some were never read';
      const isWhole = late >= streams * MOST_OF_A_FEED;
      return {
        reason: 'streams_overdue',
        region,
        feed,
        severity: isWhole ? 'critical' : 'warning',
        sinceUs: oldestReadUs || nowUs,
        title: `${name} is behind`,
        summary: `${which} in ${name} ${streams === 1 && feed === 'inventory' ? 'was' : 'were'} not read in time: ${age}.`,
        action: `If its reading fails, the log says why. Otherwise raise regions.${region}.requests_per_second as far as the service allows, watch fewer Nests, or raise poll.max_interval.`,
        stopsHeartbeat: isWhole,
      } satisfies Impairment;
    });
}

/** What was not read once is not proven either: the first pass says so. */
function unproven(snapshot: RegionSnapshot, bounds: Bounds): Impairment[] {
  if (snapshot.firstPass) return [];
  const { nowUs, proofMs } = bounds;
  const late = snapshot.proofs.filter(({ verifiedUntilUs }) => nowUs - verifiedUntilUs > proofMs * 1000);
  // Audits begin when all is read, and take a while.
  const isEarly = nowUs - snapshot.beganUs < EARLY_US;
  return isEarly
    ? beingProven(snapshot, late)
    : late.map((proof) => notProven(snapshot.region, proof, nowUs));
}

type Proof = RegionSnapshot['proofs'][number];

function beingProven({ region, beganUs }: RegionSnapshot, late: readonly Proof[]): Impairment[] {
  if (late.length === 0) return [];
  const name = regionName(region);
  return [
    {
      reason: 'feed_unproven',
      region,
      severity: 'info',
      sinceUs: beganUs,
      title: `${name} is being proven complete`,
      summary: `All of ${name} was read since the start, and is still being proven to be complete.`,
      action: 'Wait: audits count what is kept against what the service has.',
      stopsHeartbeat: false,
    },
  ];
}

function notProven(region: string, { feed, verifiedUntilUs }: Proof, nowUs: number): Impairment {
  const name = regionName(region);
  const since = verifiedUntilUs > 0 ? `since ${dayAndTime(verifiedUntilUs)}` : 'at all yet';
  return {
    reason: 'feed_unproven',
    region,
    feed,
    severity: 'warning',
    sinceUs: verifiedUntilUs || nowUs,
    title: `${name} is not proven complete`,
    summary: `${FEED_WORDS[feed]} of ${name} are not proven to be complete ${since}.`,
    action:
      'Audits catch up where requests allow it; an alert FeedIncomplete says where entries are missing.',
    stopsHeartbeat: false,
  };
}

function wrongClock({ region, clockAheadUs }: RegionSnapshot, { nowUs }: Bounds): Impairment[] {
  if (Math.abs(clockAheadUs) <= MOST_SKEW_US) return [];
  const name = regionName(region);
  const by = durationWords(Math.abs(clockAheadUs) / 1000, 'one unit');
  const side = clockAheadUs > 0 ? 'behind' : 'ahead of';
  return [
    {
      reason: 'clock_wrong',
      region,
      severity: 'warning',
      sinceUs: nowUs,
      title: `the clock is ${by} ${side === 'behind' ? 'behind' : 'ahead'}`,
      summary: `This machine's clock is ${by} ${side} that of ${name}.`,
      action: "Set this machine's clock, best by NTP: ages, silences and digests go by it.",
      stopsHeartbeat: false,
    },
  ];
}
