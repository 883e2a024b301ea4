/** A count for people: `1 event`, `312 events`, `2 tries`. */
export function howMany(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
