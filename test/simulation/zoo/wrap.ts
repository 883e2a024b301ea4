/** Ways to replace one of the parts that the daemon is given. */

import type { OpenChannel, Outcome } from '../../../src/channels/channel.ts';
import type { DaemonParts } from '../../../src/daemon.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../../src/http/transport.ts';
import type { Store, Transaction } from '../../../src/store/store.ts';
import { type ChangedRepositories, changed } from '../../store/changed-transaction.ts';
import { turnsBy } from '../../store/turns-by.ts';

export function withStore(parts: DaemonParts, change: (store: Store) => Partial<Store>): DaemonParts {
  return { ...parts, store: { ...parts.store, ...change(parts.store) } };
}

/** Replaces methods of every transaction. */
export function withTransaction(
  parts: DaemonParts,
  change: (tx: Transaction) => ChangedRepositories,
): DaemonParts {
  const { replica } = parts;
  const vary = (store: Pick<Store, 'transaction'>): Pick<Store, 'transaction'> => ({
    transaction: (work) => store.transaction((tx) => work(changed(tx, change(tx)))),
  });
  return {
    ...withStore(parts, vary),
    replica: replica && { ...replica, turns: turnsBy(vary(replica.turns)) },
  };
}

export type Send = (request: HttpRequest) => Promise<HttpResponse>;

/** Wraps a region for the daemon; called once for every life. */
export function withRegion(parts: DaemonParts, between: (send: Send, region: string) => Send): DaemonParts {
  return {
    ...parts,
    transportOf(region): Transport {
      const inner = parts.transportOf(region);
      return { send: between((request) => inner.send(request), region), close: () => inner.close() };
    },
  };
}

/** Changes how every channel sends. */
export function withSend(
  parts: DaemonParts,
  change: (send: OpenChannel['send']) => OpenChannel['send'],
): DaemonParts {
  const channels = Object.entries(parts.channels).map(([kind, channel]) => [
    kind,
    { ...channel, send: change(channel!.send) },
  ]);
  return { ...parts, channels: Object.fromEntries(channels) };
}

/** Changes the outcomes of attempts on every channel. */
export function withOutcome(parts: DaemonParts, change: (outcome: Outcome) => Outcome): DaemonParts {
  return withSend(
    parts,
    (send) =>
      async (...args) =>
        change(await send(...args)),
  );
}

export function withAnswer(
  parts: DaemonParts,
  change: (response: HttpResponse) => HttpResponse,
): DaemonParts {
  return withRegion(parts, (send) => async (request) => change(await send(request)));
}

export function withHeader(response: HttpResponse, name: string, value: string | undefined): HttpResponse {
  const { [name]: _, ...headers } = response.headers;
  return { ...response, headers: value === undefined ? headers : { ...headers, [name]: value } };
}

/** Runs work in a transaction that is rolled back. */
export async function dryRun<T>(
  transaction: <R>(work: (tx: Transaction) => Promise<R>) => Promise<R>,
  work: (tx: Transaction) => Promise<T>,
  change: (tx: Transaction) => Transaction,
): Promise<void> {
  const enough = new Error('a dry run is taken back');
  try {
    await transaction(async (tx) => {
      await work(change(tx));
      throw enough;
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
}
