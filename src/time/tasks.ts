/** Runs work in the background until it is ended: one task alone, or all of them. */

export interface Task {
  /** Asks the work to end, and resolves when it has ended. */
  end(): Promise<void>;
}

export interface Tasks {
  /** Starts work that runs until the given signal aborts. */
  begin(work: (signal: AbortSignal) => Promise<void>): Task;
  /** Resolves when all tasks were asked to end and have ended; rejects as soon as one task's work rejects. */
  readonly done: Promise<void>;
}

/** Asks all tasks to end when `signal` aborts. The first task must be begun in the same turn of the event loop. */
export function createTasks(signal: AbortSignal): Tasks {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let underWay = 0;

  function look(): void {
    if (signal.aborted && underWay === 0) resolve();
  }

  if (signal.aborted) queueMicrotask(look);
  else signal.addEventListener('abort', look, { once: true });
  return {
    begin(work) {
      const own = new AbortController();
      underWay += 1;
      const ended = work(AbortSignal.any([signal, own.signal])).then(() => {
        underWay -= 1;
        look();
      }, reject);
      return {
        end() {
          own.abort();
          return ended;
        },
      };
    },
    done,
  };
}
