/**
 * THE PROMISE of the store, the only place where intake, alerting and delivery meet. All work is done in
 * transactions: what one writes is durable when its promise resolves, or has not happened at all when it rejects.
 * Transactions run one after another; those that wait at the same moment may share one durable commit, each still
 * all-or-nothing on its own. Every store passes `test/store/contract.ts` unchanged.
 */

import type { AlertStore } from './alert-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { DigestStore } from './digest-store.ts';
import type { EventStore } from './event-store.ts';
import type { FlightStore } from './flight-store.ts';
import type { ForwardStore } from './forward-store.ts';
import type { GroupStore } from './group-store.ts';
import type { InventoryStore } from './inventory-store.ts';
import type { OutboxStore } from './outbox-store.ts';
import type { OverdueStore } from './overdue-store.ts';
import type { ReceiverStore } from './receiver-store.ts';
import type { SilenceStore } from './silence-store.ts';
import type { StreamStore } from './stream-store.ts';
import type { SuppressionStore } from './suppression-store.ts';
import type { UpkeepStore } from './upkeep-store.ts';

export interface Store {
  /**
   * Runs `work` in one transaction. It may only await the transaction's own methods. When it throws, nothing of it
   * remains and the error is passed on. Rejects with `disk_full`, `store_failed` when the commit itself fails.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Waits for what is under way, then releases the lock. */
  close(): Promise<void>;
}

export interface Transaction {
  readonly inventory: InventoryStore;
  readonly upkeep: UpkeepStore;
  readonly streams: StreamStore;
  readonly events: EventStore;
  readonly audits: AuditStore;
  readonly flights: FlightStore;
  readonly overdue: OverdueStore;
  readonly alerts: AlertStore;
  readonly groups: GroupStore;
  readonly silences: SilenceStore;
  readonly suppressions: SuppressionStore;
  readonly forwards: ForwardStore;
  readonly outbox: OutboxStore;
  readonly receivers: ReceiverStore;
  readonly digests: DigestStore;

  /** Lets the process turn to other things in a long transaction, which goes on where it was. */
  pause(): Promise<void>;
}
