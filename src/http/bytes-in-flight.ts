/**
 * Bounds the bytes of answers held at once. An answer counts from its first byte until its caller has read it. Above
 * the bound only the oldest answer continues, so that all of them finish in turn. Small answers never wait.
 */
export interface BytesInFlight {
  /** Counts `bytes` more for the answer. Resolves when there is room for them; undefined if there is room at once. */
  take(answer: object, bytes: number): Promise<void> | undefined;
  /** Call this when the answer was read or failed. */
  release(answer: object): void;
}

/** Answers up to this size never wait for larger ones. */
const SMALL_BYTES = 256 * 1024;

export function createBytesInFlight(most: number, waits: () => void): BytesInFlight {
  /** Oldest first. */
  const held = new Map<object, number>();
  let total = 0;
  const waiting: { readonly answer: object; readonly resolve: () => void }[] = [];

  const mayGoOn = (answer: object) =>
    total <= most || held.get(answer)! <= SMALL_BYTES || held.keys().next().value === answer;

  return {
    take(answer, bytes) {
      held.set(answer, (held.get(answer) ?? 0) + bytes);
      total += bytes;
      if (mayGoOn(answer)) return undefined;
      waits();
      return new Promise<void>((resolve) => waiting.push({ answer, resolve }));
    },
    release(answer) {
      total -= held.get(answer) ?? 0;
      held.delete(answer);
      for (let at = waiting.length - 1; at >= 0; at -= 1) {
        const one = waiting[at]!;
        if (held.has(one.answer) && !mayGoOn(one.answer)) continue;
        waiting.splice(at, 1);
        one.resolve();
      }
    },
  };
}
