/**
 * Sets aside what fails in alerting, so that everything else goes on. It is tried again after a while, or after the
 * next start of the process if that comes first. The store keeps when.
 */
import { type Fault, faultOf } from '../domain/alert/fault.ts';
import type { Group } from '../domain/grouping/group.ts';
import type { Happening } from '../report.ts';
import type { Transaction } from '../store/store.ts';
import type { Step } from './step.ts';

/** What was set aside is tried again after this long. */
const AGAIN_AFTER_US = 300_000_000;
/** Alerts tried again in one transaction. */
const BATCH = 200;

/** Notes faults in the store; returns the new ones, to be reported. */
export async function noteFaults(
  tx: Transaction,
  faults: readonly Fault[],
  nowUs: number,
  againUs?: number,
): Promise<Happening[]> {
  if (faults.length === 0) return [];
  const fresh = await tx.faults.note(faults, nowUs, againUs);
  return fresh.map((fault) => ({ what: 'set_aside', ...fault }));
}

/** Puts off a group whose flush failed. */
export async function setGroupAside(
  tx: Transaction,
  group: Group,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  const againUs = nowUs + AGAIN_AFTER_US;
  await tx.groups.put([{ ...group, nextFlushAtUs: againUs }]);
  return noteFaults(tx, [faultOf('group', group.key, error)], nowUs, againUs);
}

/** Takes an alert that could not join its groups out of those that wait to join. */
export async function setAlertAside(
  tx: Transaction,
  alertId: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  await tx.alerts.markRouted([alertId]);
  return noteFaults(tx, [faultOf('alert', alertId, error)], nowUs, nowUs + AGAIN_AFTER_US);
}

/** Puts off forwarding to a receiver. */
export async function setReceiverAside(
  tx: Transaction,
  receiver: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  return noteFaults(tx, [faultOf('receiver', receiver, error)], nowUs, nowUs + AGAIN_AFTER_US);
}

/** Puts off giving a delivery to its receiver's fallback. */
export async function setDeliveryAside(
  tx: Transaction,
  id: string,
  error: unknown,
  nowUs: number,
): Promise<Happening[]> {
  const againUs = nowUs + AGAIN_AFTER_US;
  await tx.outbox.fallBackAt(id, againUs);
  return noteFaults(tx, [faultOf('delivery', id, error)], nowUs, againUs);
}

/** Lets alerts that were set aside long enough ago try again to join their groups. */
export async function retryAlerts(tx: Transaction, nowUs: number): Promise<Step> {
  const names = (await tx.faults.names('alert', nowUs)).slice(0, BATCH);
  if (names.length > 0) {
    await tx.faults.mend('alert', names);
    await tx.alerts.joinAgain(names);
  }
  return { done: names.length, queued: 0, happenings: [] };
}
