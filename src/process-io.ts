import type { Readable, Writable } from 'node:stream';
import type { Clock, Random } from './time/clock.ts';

export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR2';

/** All that a command may touch of its process: `main.ts` gives the real one, tests give their own. */
export interface Edge {
  readonly clock: Clock;
  readonly random: Random;
  /** The name of the machine or container, by which people tell replicas apart. */
  readonly hostName: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** Messages. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /**
   * Calls `listener` each time the signal comes, and soon where it came before anybody heard it; the returned function
   * stops that.
   */
  onSignal(name: SignalName, listener: () => void): () => void;
  /** The command will hear no other signals than these: the others end the process as they do by default. */
  holdOnly(names: readonly SignalName[]): void;
}
