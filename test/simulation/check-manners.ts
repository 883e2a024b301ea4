/**
 * Checks what the daemon owes to others: no unexpected errors, no false alarms, patience, and a reasonable number of
 * requests.
 */
import type { Behaviours } from '../../src/simulator/world/behaviours.ts';
import type { FlightRecord } from '../../src/simulator/world/simulated-record.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { clockOf, type Find } from './finding.ts';
import type { Remains } from './run.ts';

const MOST_PER_POLL = 2;
const MOST_OVERLAP_MS = 600_000;
/** An entry is in the audits of the last four hours, every ten minutes, and in those of a day, hourly. */
const AUDITS_OF_ENTRY = 24 + 24;
const DAY_HOURS = 24;
/**
 * An audit counts what is old, and reads what may have arrived since the previous one, which is at most this far
 * behind.
 */
const AUDITS_AN_HOUR = 6;
const READ_BY_AUDITS = 3;

/** A share of all requests. */
const FEW_FAILURES = 0.01;
/** After a region has come back, it may be considered down until the next probe. */
const AFTER_OUTAGE_US = 6 * 60e6;

export function checkManners(remains: Remains, find: Find): void {
  const { plan, worlds, receivers, complaints, happenings } = remains;
  for (const world of worlds) checkRequests(world, remains, find);
  for (const bug of happenings.bugs) find('unexplained', 'unforeseen error', bug);
  for (const what of [...complaints, ...receivers.complaints]) find('unexplained', 'bad manners', what);
  for (const { region, health, atUs } of happenings.alarms) {
    const { outages, behaviours } = plan.regions.find((one) => one.region === region)!;
    const isOutage = outages.some(({ atMs, forMs }) => {
      const sinceUs = atUs - remains.startedAtUs - atMs * 1000;
      return sinceUs > 0 && sinceUs < forMs * 1000 + AFTER_OUTAGE_US;
    });
    if (!isOutage && isUntroubled(behaviours)) {
      find('unexplained', 'false alarm', `${region} was called ${health} at ${clockOf(atUs)}`);
    }
  }
}

/** So few requests fail that many failures in a row are very unlikely. */
function isUntroubled(behaviours: Partial<Behaviours>): boolean {
  return FAILURES.reduce((sum, name) => sum + (behaviours[name] ?? 0), 0) < FEW_FAILURES;
}

const FAILURES = [
  'error500',
  'error502',
  'error503',
  'error504',
  'html',
  'htmlOk',
  'reset',
  'cut',
  'truncated',
  'slow',
] as const;

/**
 * The number of requests must be explained by: polls at their interval, and as many again for what they lead to;
 * pages that overlaps read again, and audits where counts prove nothing; the cost of cut lists of Flights for polls
 * of open Flights; and the hourly review of a day, with which each life begins.
 */
function checkRequests(world: World, remains: Remains, find: Find): void {
  const { plan, down, moves = 0, startedAtUs, endedAtUs } = remains;
  const { behaviours, life } = plan.regions.find(({ region }) => region === world.region)!;
  const { intervalMs = 30_000, pageSize = 100 } = plan.poll;
  const { totalCountCap = 0, totalCountStaleMs = 0, flightsCap = 0 } = behaviours;
  const hours = (endedAtUs - startedAtUs) / 3_600e6;
  const streams = 1 + 2 * world.birds.size;
  const polls = ((hours * 3_600_000) / intervalMs) * streams;
  // Once an entry that was read is seen to be deleted, counts prove nothing for a day, and audits read.
  const isCounted = totalCountCap + totalCountStaleMs + life.deletions + life.edits === 0;
  const timesAgain = (2 * MOST_OVERLAP_MS) / intervalMs + (isCounted ? READ_BY_AUDITS : AUDITS_OF_ENTRY);
  const pages = (world.truth().events.length * timesAgain) / pageInForce(pageSize, behaviours);
  const lives = down.length + moves + 1;
  const audits = (hours * AUDITS_AN_HOUR + lives) * (1 + world.birds.size);
  const most = Math.round(MOST_PER_POLL * polls + pages + audits + cutLists());
  const { total } = world.requests();
  if (total > most)
    find('unexplained', 'too many requests', `${world.region}: ${total}, where ${most} should do`);

  /** The halves of a cut list are at least half as long, and each list was requested in vain before it was halved. */
  function cutLists(): number {
    if (flightsCap === 0) return 0;
    const flights = [...world.flights.values()];
    const ofDay = flights.length * Math.min(1, DAY_HOURS / hours);
    const openUs = flights.reduce((sum, one) => sum + flyingUs(one, endedAtUs), 0);
    const reviews = hours + lives;
    return (4 * (reviews * ofDay + openUs / 1000 / intervalMs)) / flightsCap;
  }
}

/** If larger pages are refused, they are halved until they are accepted. */
function pageInForce(
  pageSize: number,
  { maxPageSize = pageSize, overMaxPageSize }: Partial<Behaviours>,
): number {
  if (overMaxPageSize !== 'refuse') return Math.min(pageSize, maxPageSize);
  let size = pageSize;
  while (size > maxPageSize) size = Math.floor(size / 2);
  return size;
}

/** How long it had been active by then. */
function flyingUs({ startedAtUs, ends }: FlightRecord, untilUs: number): number {
  let sinceUs: number | undefined = startedAtUs;
  let sum = 0;
  for (const { endedAtUs, reopenedAtUs } of ends) {
    sum += endedAtUs - (sinceUs ?? endedAtUs);
    sinceUs = reopenedAtUs;
  }
  return sum + (sinceUs === undefined ? 0 : Math.max(0, untilUs - sinceUs));
}
