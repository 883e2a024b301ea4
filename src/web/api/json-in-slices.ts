/** Writes JSON of any length in slices, and lets the event loop run between them. */
import { setImmediate as turnOfEventLoop } from 'node:timers/promises';

/** The characters written without a pause, which takes a millisecond. */
const SLICE_LENGTH = 256 * 1024;

/** The slices joined without a pause, which takes some milliseconds. */
const COPIED_AT_ONCE = 16;

export class JsonInSlices {
  readonly #written: Buffer[] = [];
  #slice = '';

  async add(json: string): Promise<void> {
    this.#slice += json;
    if (this.#slice.length < SLICE_LENGTH) return;
    this.#write();
    await turnOfEventLoop();
  }

  /** Adds a list, item by item. */
  async addList<T>(items: readonly T[], add: (item: T) => Promise<void>): Promise<void> {
    for (const [index, item] of items.entries()) {
      await this.add(index === 0 ? '[' : ',');
      await add(item);
    }
    await this.add(items.length === 0 ? '[]' : ']');
  }

  /** Everything that was added. */
  async whole(): Promise<Uint8Array<ArrayBuffer>> {
    this.#write();
    const whole = new Uint8Array(this.#written.reduce((sum, { length }) => sum + length, 0));
    let done = 0;
    for (const [index, slice] of this.#written.entries()) {
      whole.set(slice, done);
      done += slice.length;
      if (index % COPIED_AT_ONCE === COPIED_AT_ONCE - 1) await turnOfEventLoop();
    }
    return whole;
  }

  #write(): void {
    this.#written.push(Buffer.from(this.#slice));
    this.#slice = '';
  }
}
