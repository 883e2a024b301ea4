/**
 * Holds signals that arrive before a command listens for them. By default Node would end the process at most of them,
 * and as the first process of a container it would never receive them. Here they are held from the process's first
 * moment on, and delivered when the command starts to listen. If nobody listens, a second SIGINT or SIGTERM does end the
 * process.
 */
import type { SignalName } from './process-io.ts';

const HELD: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];
const ENDING: ReadonlySet<SignalName> = new Set(['SIGINT', 'SIGTERM']);

/**
 * A second one this soon is the same stroke and is dropped: a terminal sends it to npm and to the process that npm runs,
 * and npm passes its own on (where the shell between them is bash, as on macOS).
 */
const SAME_STROKE_MS = 500;

/** The part of `process` that is needed. */
interface SignalledProcess {
  on(name: SignalName, listener: () => void): unknown;
  off(name: SignalName, listener: () => void): unknown;
  kill(pid: number, name: SignalName): unknown;
  exit(code: number): void;
  readonly pid: number;
}

interface HeldSignals {
  /**
   * Calls `listener` each time the signal arrives, and soon if it arrived earlier and was held. The returned function
   * stops that.
   */
  onSignal(name: SignalName, listener: () => void): () => void;
  /**
   * The command listens for no other signals. From now on the others have their default effect; held ones take effect
   * now.
   */
  holdOnly(names: readonly SignalName[]): void;
}

/** `nowMs` reads a monotonic clock. */
export function holdSignals(process: SignalledProcess, nowMs: () => number): HeldSignals {
  const listeners = new Map<SignalName, Set<() => void>>(HELD.map((name) => [name, new Set()]));
  const unheard = new Set<SignalName>();
  let endedMs: number | undefined;

  const catchers = new Map(
    HELD.map((name) => [
      name,
      () => {
        const heard = listeners.get(name)!;
        if (ENDING.has(name)) {
          const isFirst = endedMs === undefined;
          endedMs ??= nowMs();
          if (!isFirst && nowMs() - endedMs < SAME_STROKE_MS) return;
          if (!isFirst && heard.size === 0) process.exit(1);
        }
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
      // Asynchronously, since the caller is not ready before the registration returns.
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
