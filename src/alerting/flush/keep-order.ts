/**
 * Keeps the messages about one alert in order where several groups of a receiver notify of it: a gathering group
 * (`gathered-groups.ts`) and the groups that it gathered from. Each group has its own lane in the outbox, so if a message
 * of one waits for its next attempt, a later one of another would be sent before it, and the receiver would finally
 * believe what no longer holds. So while a gathering group's message about some alerts is not settled, all messages about
 * these alerts go into its lane.
 *
 * An incident has one lane anyway (`../incidents.ts`).
 */
import type { Receiver } from '../../channels/receiver.ts';
import type { NotifyingFlush } from '../../domain/grouping/flush.ts';
import { catchUpKey } from '../../domain/grouping/sorts/catch-up-sort.ts';
import { heldBackKey, SORTS } from '../../domain/grouping/sorts/sorts.ts';
import type { Lane } from '../../store/outbox-store.ts';
import type { Transaction } from '../../store/store.ts';
import { destinationsOf, keepsIncidents, laneOf } from '../destination.ts';
import type { FlushContext } from './flush-context.ts';

/** The lanes of a flush's messages, by the position of the integration; the group's own where none is given. */
type OtherLanes = ReadonlyMap<number, string>;

const OWN_LANES: OtherLanes = new Map();

/** Lanes looked at between two pauses: a summary may gather from thousands of groups. */
const PAUSE_AFTER = 500;

/**
 * Returns a function that resolves to the receivers to which something of a gathering group is not settled yet. It asks
 * the store when it is first called, since most flushes notify nobody.
 */
export function createUnsettledGatherings(
  tx: Transaction,
  receivers: readonly Receiver[],
): () => Promise<Set<string>> {
  let asked: Promise<Set<string>> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };

  async function ask(): Promise<Set<string>> {
    const lanes = receivers.flatMap(({ name, integrations }) =>
      destinationsOf(integrations).flatMap(([position]) =>
        gatheringKeys(name).map((key) => ({ receiver: name, position, lane: laneOf(position, key) })),
      ),
    );
    return new Set((await tx.outbox.unsettledLanes(lanes)).map(({ receiver }) => receiver));
  }
}

/** Decides in which lanes a receiver is sent the messages of a flush, and joins the lanes that must be one. */
export async function keepOrder(
  { tx, unsettledGatherings }: FlushContext,
  { group, listed }: NotifyingFlush,
  receiver: Receiver,
): Promise<OtherLanes> {
  const { gathers } = SORTS[group.sort];
  const unsettled = await unsettledGatherings();
  if (!gathers && !unsettled.has(receiver.name)) return OWN_LANES;
  if (gathers) unsettled.add(receiver.name);
  const alertIds = listed.map(({ alert }) => alert.id);
  const members = gathers ? await tx.groups.membersOfAlerts(alertIds) : [];
  const keys = new Set([...gatheringKeys(receiver.name), ...members.map(({ groupKey }) => groupKey)]);
  keys.delete(group.key);
  const others = new Map<number, string>();
  for (const [position] of destinationsOf(receiver.integrations).filter((one) => !keepsIncidents(one))) {
    const laneFor = (key: string) => ({ receiver: receiver.name, position, lane: laneOf(position, key) });
    const own = laneFor(group.key);
    const [first, ...more] = await unsettledAmong(tx, [...keys].map(laneFor), alertIds);
    if (!first) continue;
    if (gathers) await tx.outbox.joinLanes([first, ...more], own.lane);
    else {
      await tx.outbox.joinLanes([...more, own], first.lane);
      others.set(position, first.lane);
    }
  }
  return others;
}

async function unsettledAmong(
  tx: Transaction,
  lanes: readonly Lane[],
  alertIds: readonly string[],
): Promise<readonly Lane[]> {
  const found: Lane[] = [];
  for (let from = 0; from < lanes.length; from += PAUSE_AFTER) {
    if (from > 0) await tx.pause();
    found.push(...(await tx.outbox.unsettledLanes(lanes.slice(from, from + PAUSE_AFTER), alertIds)));
  }
  return found;
}

function gatheringKeys(receiver: string): readonly string[] {
  return [catchUpKey(receiver), heldBackKey(receiver)];
}
