/**
 * The one answer to "is all well?": a pure function from what is known to what impairs the watch. The page, `status`,
 * the API, the heartbeat and the metrics all show this answer and no other.
 */
import { howMany } from '../text/counts.ts';
import { plainText } from '../text/plain-text.ts';
import { byGravity, type Impairment } from './impairment.ts';
import { judgeRegion } from './judge-region.ts';
import type { DeadEnds, HealthSnapshot, KeptSnapshot, RefusedConfig, StoreSnapshot } from './snapshot.ts';

const MIB = 1024 * 1024;

/** Less than that is little on any disk; on a small one, less than a tenth. */
const LEAST_FREE_BYTES = 512 * MIB;
const LEAST_FREE_PART = 1 / 10;

const MAX_TEXT_LENGTH = 300;

/** What impairs the watch, the gravest first; empty where nothing does. */
export function judgeHealth(snapshot: HealthSnapshot): Impairment[] {
  const { nowUs, regions, route, store, kept, refusedConfig } = snapshot;
  return [
    ...regions.flatMap((region) => judgeRegion(region, snapshot)),
    ...judgeStore(store, nowUs),
    ...judgeRoutes(route, nowUs),
    ...judgeConfig(refusedConfig),
    ...judgeDeliveries(kept, nowUs),
    ...judgeEntries(kept),
  ].toSorted(byGravity);
}

/** Whether there is so little room that a person should make some. */
export function isDiskLow(space: StoreSnapshot['space']): boolean {
  // A store in memory has no disk.
  if (!space || space.whole === 0) return false;
  return space.free < Math.min(LEAST_FREE_BYTES, space.whole * LEAST_FREE_PART);
}

function judgeStore({ space, refusal }: StoreSnapshot, nowUs: number): Impairment[] {
  if (refusal) {
    const { isFull, message, sinceUs } = refusal;
    return [
      {
        reason: 'store_failing',
        severity: 'critical',
        sinceUs,
        title: isFull ? 'the store is full' : 'the store fails',
        summary: isFull
          ? 'The store has no space left to grow: nothing new can be kept or sent.'
          : `The store fails, so nothing new can be kept or sent: ${plainText(message, MAX_TEXT_LENGTH)}`,
        action: isFull
          ? 'Free some space where store.url lies; reading goes on by itself, and all that was missed is read then.'
          : 'Check the disk and the permissions; the log has the whole error.',
        stopsHeartbeat: true,
      },
    ];
  }
  if (!space || !isDiskLow(space)) return [];
  const free = `${Math.floor(space.free / MIB)} MiB`;
  return [
    {
      reason: 'disk_low',
      severity: 'warning',
      sinceUs: nowUs,
      title: `only ${free} free for the store`,
      summary: `Only ${free} are free on the disk of the store, which takes ${Math.ceil(space.used / MIB)} MiB.`,
      action:
        'Free some space, or keep less by store.retention: when it is full, nothing new can be kept or sent.',
      stopsHeartbeat: false,
    },
  ];
}

function judgeRoutes({ isAnybodyNotified, isForwarded, routes }: DeadEnds, nowUs: number): Impairment[] {
  if (!isAnybodyNotified && !isForwarded) {
    return [
      {
        reason: 'nobody_notified',
        path: 'route',
        severity: 'critical',
        sinceUs: nowUs,
        title: 'nobody is notified',
        summary:
          'Nobody is notified of alerts: no route leads to a receiver that could send them to anybody.',
        action: 'Give a receiver email_configs, webhook_configs or the like, and name it in a route.',
        stopsHeartbeat: true,
      },
    ];
  }
  return routes.map(({ path, receiver }) => {
    const name = plainText(receiver, MAX_TEXT_LENGTH);
    return {
      reason: 'nobody_notified',
      path,
      receiver,
      severity: 'warning',
      sinceUs: nowUs,
      title: `receiver ${name} notifies nobody`,
      summary: `Alerts of ${path} go to receiver ${name}, which notifies nobody.`,
      action: 'Give it a way to people. If that is meant, call it null or blackhole.',
      stopsHeartbeat: false,
    };
  });
}

function judgeConfig(refused: RefusedConfig | undefined): Impairment[] {
  if (!refused) return [];
  const { mistakes, sinceUs } = refused;
  const [first = ''] = mistakes;
  const all = mistakes.length === 1 ? 'a mistake' : `${howMany(mistakes.length, 'mistake')}, the first`;
  return [
    {
      reason: 'config_refused',
      severity: 'warning',
      sinceUs,
      title: 'the new configuration is not in force',
      summary: `The file of the configuration has ${all} at ${plainText(first, MAX_TEXT_LENGTH)}`,
      action: 'What was read before is in force. See all mistakes with: nestwatch check-config',
      stopsHeartbeat: false,
    },
  ];
}

function judgeDeliveries({ failing, isNobodyReached, dead }: KeptSnapshot, nowUs: number): Impairment[] {
  const failures = [...Map.groupBy(failing, ({ receiver }) => receiver)].map(
    ([receiver, all]): Impairment => {
      const [first] = all.toSorted((a, b) => a.sinceUs - b.sinceUs);
      const { integration, failures, lastError, sinceUs } = first!;
      const name = plainText(receiver, MAX_TEXT_LENGTH);
      const said = plainText(lastError, MAX_TEXT_LENGTH);
      return {
        reason: 'receivers_failing',
        receiver,
        severity: isNobodyReached ? 'critical' : 'warning',
        sinceUs,
        title: `receiver ${name} accepts nothing`,
        summary: `Receiver ${name} accepts nothing by ${integration}, ${howMany(failures, 'try', 'tries')} in a row${said ? `: ${said}` : '.'}`,
        action: `It is tried again by itself. Try it with: nestwatch test-receiver ${name}`,
        stopsHeartbeat: isNobodyReached,
      };
    },
  );
  const given = dead.map(({ receiver, count }): Impairment => {
    const name = plainText(receiver, MAX_TEXT_LENGTH);
    return {
      reason: 'deliveries_dead',
      receiver,
      severity: 'warning',
      sinceUs: nowUs,
      title: `${howMany(count, 'notification')} to ${name} given up`,
      summary: `${howMany(count, 'notification')} to receiver ${name} ${count === 1 ? 'was' : 'were'} given up in the last seven days.`,
      action:
        'See them with: nestwatch deliveries --dead. Mend the receiver, then put them back with: nestwatch deliveries retry ID',
      stopsHeartbeat: false,
    };
  });
  return [...failures, ...given];
}

function judgeEntries({ quarantined, faults }: KeptSnapshot): Impairment[] {
  const unread = quarantined.map(({ region, feed, count, sinceUs }): Impairment => {
    const what = howMany(count, 'entry', 'entries');
    return {
      reason: 'quarantine_growing',
      region,
      feed,
      severity: 'warning',
      sinceUs,
      title: `${what} of ${region.toUpperCase()} unreadable`,
      summary: `${what} of ${region.toUpperCase()} (${feed}) could not be read in the last hour: nobody hears what they say.`,
      action: 'The log says what is wrong with them. If the service has changed its form, update nestwatch.',
      stopsHeartbeat: false,
    };
  });
  if (faults.count === 0) return unread;
  const what = howMany(faults.count, 'thing');
  return [
    ...unread,
    {
      reason: 'faults_set_aside',
      severity: 'warning',
      sinceUs: faults.sinceUs,
      title: 'something was set aside',
      summary: `${what} failed and ${faults.count === 1 ? 'was' : 'were'} set aside, while all else goes on: ${plainText(faults.first, MAX_TEXT_LENGTH)}`,
      action: 'GET /api/v1/status lists them as set_aside, with the reasons: mend or remove what they name.',
      stopsHeartbeat: false,
    },
  ];
}
