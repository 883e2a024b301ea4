import type { Transaction } from '../../src/store/store.ts';

/** Methods by room that stand in for a transaction's own. */
export type ChangedRooms = {
  readonly [Room in Exclude<keyof Transaction, 'pause'>]?: Partial<Transaction[Room]>;
};

/** The transaction with these methods in the place of its own. */
export function changed(tx: Transaction, rooms: ChangedRooms): Transaction {
  const replaced = Object.entries(rooms).map(([room, methods]) => [
    room,
    { ...tx[room as keyof ChangedRooms], ...methods },
  ]);
  return { ...tx, ...Object.fromEntries(replaced) };
}
