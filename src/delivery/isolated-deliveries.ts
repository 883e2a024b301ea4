/**
 * Keeps deliveries that fail alone (`isolated-failure.ts`) from holding up the others of their lane: such a delivery is
 * set aside as a fault and leaves its lane, and a batch of forwarded events is split in halves instead
 * (`halve-batch.ts`). That is decided when an attempt has ended, and written by the transaction that settles the
 * attempt.
 */
import type { Receiver } from '../channels/receiver.ts';
import { channelOf } from '../channels/registry.ts';
import { type Fault, faultOf } from '../domain/alert/fault.ts';
import type { ClaimedDelivery, Settlement } from '../store/outbox-store.ts';
import type { Transaction } from '../store/store.ts';
import { integrationOf } from './attempt.ts';
import { type Half, halvesOf, type RefusedBatches } from './halve-batch.ts';
import type { IsolatedFailures } from './isolated-failure.ts';

interface IsolatedDeliveriesOptions {
  readonly receivers: readonly Receiver[];
  readonly isolatedFailures: IsolatedFailures;
  readonly refusedBatches: RefusedBatches;
}

export class IsolatedDeliveries {
  readonly #options: IsolatedDeliveriesOptions;
  /** By delivery id, until written: the fault of a delivery that fails alone; null for one that no longer does. */
  readonly #faults = new Map<string, Fault | null>();
  /** By delivery id, until written: the halves of a batch that is not accepted as a whole. */
  readonly #halves = new Map<string, readonly Half[]>();

  constructor(options: IsolatedDeliveriesOptions) {
    this.#options = options;
  }

  /**
   * Returns how an attempt is to be settled: differently if the delivery fails alone. To be called for each, in order.
   */
  judge(claimed: ClaimedDelivery, settlement: Settlement, nowUs: number): Settlement {
    const { delivery } = claimed;
    const { id, receiver, integration } = delivery;
    const { isolatedFailures, refusedBatches } = this.#options;
    const standing = isolatedFailures.hear(delivery, settlement, nowUs);
    if (standing === 'over') this.#faults.set(id, null);
    const isRefusedAlone = settlement.state === 'dead' && isolatedFailures.acceptsOthers(delivery, nowUs);
    const isRefused = refusedBatches.hear(claimed, settlement);
    const isHalved = isRefused && (standing === 'isolated' || isRefusedAlone);
    const halves = isHalved ? halvesOf(claimed, nowUs) : undefined;
    if (halves) {
      this.#halves.set(id, halves);
      const lastError = `not accepted as a whole, so its events are sent in two halves: ${settlement.lastError}`;
      return { id, state: 'suppressed', nextAttemptAtUs: nowUs, lastError };
    }
    if (standing !== 'isolated') return settlement;
    const why = `${receiver} accepts others by ${integration}, and not this one: ${settlement.lastError}`;
    this.#faults.set(id, faultOf('delivery', id, why));
    return this.#keepsOrder(claimed) ? settlement : { ...settlement, leavesLane: true };
  }

  /** Services that keep incidents need the order: an incident opened after its resolution would stay open. */
  #keepsOrder({ delivery, notification }: ClaimedDelivery): boolean {
    const receiver = this.#options.receivers.find(({ name }) => name === delivery.receiver);
    const own = integrationOf(receiver, delivery, notification);
    return own !== undefined && channelOf(own).audience === 'incidents';
  }

  /**
   * Writes what was decided of these deliveries, after they were settled in the same transaction. Resolves to the
   * faults that are new.
   */
  async write(tx: Transaction, settlements: readonly Settlement[], nowUs: number): Promise<Fault[]> {
    const faults = await this.#writeFaults(tx, settlements, nowUs);
    await this.#queueHalves(tx, settlements);
    return faults;
  }

  /** To be called when that transaction is committed. Returns whether halves of a batch are due now. */
  written(settlements: readonly Settlement[]): boolean {
    let isHalved = false;
    for (const { id } of settlements) {
      this.#faults.delete(id);
      if (this.#halves.delete(id)) isHalved = true;
    }
    return isHalved;
  }

  async #writeFaults(tx: Transaction, settlements: readonly Settlement[], nowUs: number): Promise<Fault[]> {
    const own = settlements.filter(({ id }) => this.#faults.has(id)).map(({ id }) => id);
    if (own.length === 0) return [];
    const over = own.filter((id) => this.#faults.get(id) === null);
    if (over.length > 0) await tx.faults.mend('delivery', over);
    return tx.faults.note(
      own.flatMap((id) => this.#faults.get(id) ?? []),
      nowUs,
    );
  }

  /** Queues the halves of batches, unless another attempt of the whole batch was begun since: then that one counts. */
  async #queueHalves(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
    for (const { id } of settlements) {
      const halves = this.#halves.get(id);
      if (!halves || (await tx.outbox.find(id))?.delivery.state !== 'suppressed') continue;
      for (const { notification, delivery } of halves) await tx.outbox.enqueue(notification, [delivery]);
    }
  }
}
