import type { Readable, Writable } from 'node:stream';
import type { Clock, Random } from './time/clock.ts';

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR2';

/** Everything that a command may use of its process. `main.ts` passes the real one; tests pass their own. */
export interface Edge {
  readonly clock: Clock;
  readonly random: Random;
  /** The name of the machine or container, by which people tell replicas apart. */
  readonly hostName: string;
  /** The command that starts this program; its arguments follow. */
  readonly program: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For results. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** For messages. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /**
   * Calls `listener` each time the signal arrives, and soon if it arrived earlier and was held. The returned function
   * stops that.
   */
  onSignal(name: SignalName, listener: () => void): () => void;
  /** The command listens for no other signals; the others have their default effect and end the process. */
  holdOnly(names: readonly SignalName[]): void;
}
