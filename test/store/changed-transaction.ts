import type { Transaction } from '../../src/store/store.ts';

/** Methods by room that stand in for a transaction's own. */
export type ChangedRooms = {
  readonly [Room in Exclude<keyof Transaction, 'attempt' | 'pause'>]?: Partial<Transaction[Room]>;
};

/** The transaction with these methods in the place of its own. Rooms may be of a class: a copy would lack its methods. */
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
