/**
 * Decides whether a Flight that has ended is active again. One server of the service may be behind the others, and
 * still show a Flight as active after another has shown its end. If a single answer were believed, that end would be
 * reported a second time. So answers must have said so for a minute, without one that says otherwise.
 */

/** The part of a poll's `Reading` that matters here. */
interface Looked {
  readonly fromUs: number;
  readonly newSinceUs: number;
  readonly serviceNowUs: number;
}

const SAID_FOR_US = 60_000_000;

/** The most Flights remembered. Beyond this, the one first seen longest ago is forgotten. */
const MOST_REMEMBERED = 1_000;

export class ActiveAgain {
  /** When an answer first said so, on the service's clock, by Flight. */
  readonly #saidUs = new Map<string, number>();

  /** To be called when an answer shows a Flight that has ended as active. Returns whether to believe that. */
  isBelieved(flightId: string, startedAtUs: number, { fromUs, newSinceUs, serviceNowUs }: Looked): boolean {
    // Only rescans look back that far, so no answer would say so a minute later.
    if (startedAtUs < fromUs && newSinceUs < fromUs) return true;
    const saidUs = this.#saidUs.get(flightId);
    if (saidUs === undefined) {
      const [oldest] = this.#saidUs.size >= MOST_REMEMBERED ? this.#saidUs.keys() : [];
      if (oldest !== undefined) this.#saidUs.delete(oldest);
      this.#saidUs.set(flightId, serviceNowUs);
      return false;
    }
    if (serviceNowUs - saidUs < SAID_FOR_US) return false;
    this.#saidUs.delete(flightId);
    return true;
  }

  /** To be called when an answer shows the Flight's end. */
  ended(flightId: string): void {
    this.#saidUs.delete(flightId);
  }
}
