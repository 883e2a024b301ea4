/**
 * Watches all writes to the store: whoever writes what only the owner of a duty may write must own it in that same
 * transaction.
 */
import type { Store, Transaction } from '../../../src/store/store.ts';
import { changed } from '../../store/changed-transaction.ts';

export interface Writer {
  /** The numbers under which this life has joined; the last one is in force. */
  readonly joined: number[];
  /** Called with a duty that it did not own. */
  readonly trespassed: (duty: string) => void;
}

/** The regions of the streams, recorded when they are opened. */
export type StreamRegions = Map<number, string>;

export function watchedStore(store: Store, regions: StreamRegions, { joined, trespassed }: Writer): Store {
  function watched(tx: Transaction): Transaction {
    const known = new Map<string, boolean>();

    async function mustOwn(duty: string): Promise<void> {
      if (!known.has(duty)) {
        const { duties } = await tx.ownership.view();
        known.set(duty, duties.find((one) => one.duty === duty)?.owner === joined.at(-1));
      }
      if (!known.get(duty)) trespassed(duty);
    }
    const ofStream = (stream: number) => mustOwn(`region ${regions.get(stream)}`);

    return changed(tx, {
      ownership: {
        async join(name, version, forMs) {
          const replica = await tx.ownership.join(name, version, forMs);
          joined.push(replica);
          return replica;
        },
      },
      streams: {
        async open(region, feed, birdId) {
          const record = await tx.streams.open(region, feed, birdId);
          regions.set(record.stream, region);
          return record;
        },
        async list(region) {
          const records = await tx.streams.list(region);
          for (const { stream } of records) regions.set(stream, region);
          return records;
        },
        async advanceCursor(stream, cursorUs) {
          await ofStream(stream);
          await tx.streams.advanceCursor(stream, cursorUs);
        },
      },
      events: {
        async insert(stream, events) {
          await ofStream(stream);
          return tx.events.insert(stream, events);
        },
      },
      inventory: {
        async putBirds(birds) {
          for (const { region } of birds.slice(0, 1)) await mustOwn(`region ${region}`);
          await tx.inventory.putBirds(birds);
        },
      },
      groups: {
        async put(groups) {
          await mustOwn('alerting');
          await tx.groups.put(groups);
        },
      },
      alerts: {
        async markRouted(ids) {
          await mustOwn('alerting');
          await tx.alerts.markRouted(ids);
        },
      },
    });
  }

  return { ...store, transaction: (work) => store.transaction((tx) => work(watched(tx))) };
}
