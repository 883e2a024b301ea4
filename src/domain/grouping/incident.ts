/**
 * Incidents: what a service such as PagerDuty keeps for a group under the group's key, from its first news to its end.
 *
 *   none —something is told to fire→ open —all of it that still fires is acknowledged→ acknowledged
 *   acknowledged —something is told to fire→ open
 *   open, acknowledged —told that nothing fires any more→ none
 *
 * Such a service is told the state of its incident, and nobody acts on the single alerts there. So a group that is told
 * beside its alerts' own (`special-groups.ts`: held back, a summary) is told to it as these own groups: what it opened under a
 * key that is gone tomorrow would stay open for ever.
 */

import { concerns, type Silence, silenceState } from '../muting/silence.ts';
import type { Flush } from './flush.ts';
import { type AlertInGroup, type Group, HAS_LEFT } from './group.ts';

/** Told as firing, and firing still. */
export function isInIncident({ alert, member }: AlertInGroup): boolean {
  const isTold = member.notifiedState === 'firing' || member.notifiedState === 'hidden';
  return isTold && member.notifiedSeq !== HAS_LEFT && alert.state === 'firing';
}

/** True while the group's last notification said that something fires: the incident is open, or acknowledged. */
export function hasIncident(inGroup: readonly AlertInGroup[]): boolean {
  return inGroup.some(({ member }) => member.notifiedState === 'firing');
}

/** True when somebody has acknowledged each alert of an open incident that still fires; newEvents ones do not count. */
export function isAcknowledged(
  inGroup: readonly AlertInGroup[],
  silences: readonly Silence[],
  nowUs: number,
): boolean {
  if (!hasIncident(inGroup)) return false;
  const firing = inGroup.filter(isInIncident);
  const acknowledgements = silences.filter(
    (one) => one.alertId !== null && silenceState(one, nowUs) === 'active',
  );
  return (
    firing.length > 0 &&
    firing.every(({ alert }) => acknowledgements.some((silence) => concerns(silence, alert)))
  );
}

/**
 * What the incident of one group is told of a flush that tells several groups' alerts; undefined where that is nothing.
 * `inGroup` are the group's own. Of a summary only what fires counts: what came and went opens no incident.
 */
export function asIncident<F extends Flush>(
  flushed: F,
  group: Group,
  inGroup: readonly AlertInGroup[],
  nowUs: number,
): F | undefined {
  const { summary, ...rest } = flushed;
  const own = new Set(inGroup.map(({ alert }) => alert.id));
  const listed = rest.listed.filter(({ alert }) => own.has(alert.id));
  const now = new Set(listed.filter(({ status }) => status === 'firing').map(({ alert }) => alert.id));
  const firing = inGroup.filter((one) => now.has(one.alert.id) || isInIncident(one));
  if (listed.length === 0 || (summary && now.size === 0)) return undefined;
  return {
    ...(rest as F),
    group: { ...group, receiver: flushed.group.receiver, notifiedAtUs: nowUs },
    listed,
    truncatedAlerts: 0,
    firingTotal: firing.length,
    resolvedTotal: listed.length - now.size,
  };
}

/** The group as it is written after a flush that left so many alerts firing, told or muted. */
export function afterFlush(group: Group, { firingTotal }: Flush, waiting: readonly AlertInGroup[]): Group {
  const { acknowledged, elsewhere, ...rest } = group;
  const isOver = firingTotal === 0 && waiting.length === 0;
  // What fires and is not muted is acknowledged by nobody.
  return {
    ...rest,
    ...(acknowledged && firingTotal === 0 && !isOver && { acknowledged }),
    ...(elsewhere && !isOver && { elsewhere }),
  };
}
