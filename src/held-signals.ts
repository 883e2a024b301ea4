/**
 * Signals that come before a command hears them: Node would end the process at most of them, and the first process of
 * a container would never learn of them. Here they are held from the process's first moment on, and handed over when
 * the command begins to hear. The second one that asks for the end does end the process where nobody hears it.
 */
import type { SignalName } from './process-io.ts';

const HELD: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
const ENDING: ReadonlySet<SignalName> = new Set(['SIGINT', 'SIGTERM']);

/** What is needed of `process`. */
export interface SignalledProcess {
  on(name: SignalName, listener: () => void): unknown;
  off(name: SignalName, listener: () => void): unknown;
  kill(pid: number, name: SignalName): unknown;
  exit(code: number): void;
  readonly pid: number;
}

export interface HeldSignals {
  /** Calls `listener` each time the signal comes, and soon where it came unheard; the returned function stops that. */
  onSignal(name: SignalName, listener: () => void): () => void;
  /** The command will hear no others than these: from now on, and if one came already, the others do what they do by default. */
  holdOnly(names: readonly SignalName[]): void;
}

export function holdSignals(process: SignalledProcess): HeldSignals {
  const listeners = new Map<SignalName, Set<() => void>>(HELD.map((name) => [name, new Set()]));
  const unheard = new Set<SignalName>();
  let endings = 0;

  const catchers = new Map(
    HELD.map((name) => [
      name,
      () => {
        const heard = listeners.get(name)!;
        if (ENDING.has(name)) endings += 1;
        if (heard.size === 0 && endings > 1 && ENDING.has(name)) process.exit(1);
        if (heard.size === 0) unheard.add(name);
        for (const listener of heard) listener();
      },
    ]),
  );
  for (const [name, catcher] of catchers) process.on(name, catcher);

  return {
    onSignal(name, listener) {
      const heard = listeners.get(name)!;
      heard.add(listener);
      // Not at once: who registers is not ready to hear before it has done so.
      if (unheard.delete(name)) {
        queueMicrotask(() => {
          if (heard.has(listener)) listener();
          else unheard.add(name);
        });
      }
      return () => heard.delete(listener);
    },
    holdOnly(names) {
      for (const [name, catcher] of catchers) {
        if (names.includes(name)) continue;
        process.off(name, catcher);
        if (unheard.delete(name)) process.kill(process.pid, name);
      }
    },
  };
}
