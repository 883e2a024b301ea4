import type { Transaction } from '../../src/store/store.ts';

/** Methods, by part of the transaction, that replace its own. */
export type ChangedRooms = {
  readonly [Room in Exclude<keyof Transaction, 'attempt' | 'pause'>]?: Partial<Transaction[Room]>;
};

/**
 * The transaction with these methods replacing its own. The parts may be instances of classes, so a plain copy would
 * lack their methods.
 */
export function changed(tx: Transaction, rooms: ChangedRooms): Transaction {
  const replaced = Object.entries(rooms).map(([name, methods]) => {
    const room = tx[name as keyof ChangedRooms];
    return [name, new Proxy(room, { get: (_, method) => own(methods, method) ?? own(room, method) })];
  });
  return { ...tx, ...Object.fromEntries(replaced) };
}

function own(room: object, name: string | symbol): unknown {
  const method: unknown = Reflect.get(room, name);
  return typeof method === 'function' ? method.bind(room) : method;
}
