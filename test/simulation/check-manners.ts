/** What the daemon owes to others: no unforeseen errors, no false alarms, patience, and requests in proportion. */
import type { Behaviours } from '../../src/simulator/behaviours.ts';
import type { World } from '../../src/simulator/world.ts';
import { clockOf, type Find } from './finding.ts';
import type { Remains } from './run.ts';

const MOST_PER_POLL = 2;
const MOST_OVERLAP_MS = 600_000;

/** Of all requests. */
const FEW_FAILURES = 0.01;
/** A region that has come back may be taken for away until the next probe. */
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

/** So few requests are answered by anything but the service that hardly ever many of them follow each other. */
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

/** Polls at their interval, as much again for what they lead to, and pages that overlaps make them read again. */
function checkRequests(world: World, { plan, startedAtUs, endedAtUs }: Remains, find: Find): void {
  const { behaviours } = plan.regions.find(({ region }) => region === world.region)!;
  const { intervalMs = 30_000, pageSize = 100 } = plan.poll;
  const streams = 1 + 2 * world.birds.size;
  const polls = ((endedAtUs - startedAtUs) / 1000 / intervalMs) * streams;
  const rowsAgain = (world.truth().events.length * MOST_OVERLAP_MS) / intervalMs;
  const pages = rowsAgain / Math.min(pageSize, behaviours.maxPageSize ?? pageSize);
  const most = Math.round(MOST_PER_POLL * polls + 2 * pages);
  const { total } = world.requests();
  if (total > most)
    find('unexplained', 'too many requests', `${world.region}: ${total}, where ${most} should do`);
}
