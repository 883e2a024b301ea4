/** Work that goes on beside other work until it is ended: one task by itself, or all of them. */

export interface Task {
  /** Asks the work to end, and resolves when it has. */
  end(): Promise<void>;
}

export interface Tasks {
  /** Begins work that is to run until the signal that it is given aborts. */
  begin(work: (signal: AbortSignal) => Promise<void>): Task;
  /** Resolves when all were asked to end and none runs any more; rejects as soon as the work of one rejects. */
  readonly done: Promise<void>;
}

/** All tasks are asked to end when `signal` aborts. The first must be begun in the same turn. */
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
