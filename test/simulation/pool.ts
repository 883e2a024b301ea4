/** Runs worlds on several cores: one thread per core, one world at a time. */
import { Worker } from 'node:worker_threads';
import type { Outcome } from './run.ts';

export interface Task {
  readonly seed: number;
  readonly hours: number;
  /** The name of a known-bad daemon of the zoo. */
  readonly variant?: string;
  /** Whether several replicas watch it. */
  readonly isShared?: boolean;
  /** Runs the same without the mistake. */
  readonly isControl?: boolean;
}

export interface Pool {
  run(task: Task): Promise<Outcome>;
  close(): Promise<void>;
}

interface Waiting {
  readonly task: Task;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * After this many worlds a thread is replaced, because Node keeps what a killed life listens to until its thread
 * ends: about 6 MB for a world of six hours.
 */
const MOST_WORLDS = 20;

export function createPool(threads: number): Pool {
  const waiting: Waiting[] = [];
  const idle: Worker[] = [];
  const busy = new Map<Worker, Waiting>();

  function next(): void {
    while (idle.length > 0 && waiting.length > 0) {
      const worker = idle.pop()!;
      const one = waiting.shift()!;
      busy.set(worker, one);
      worker.postMessage(one.task);
    }
  }

  function begin(): void {
    const worker = new Worker(new URL('./worker.ts', import.meta.url));
    let worlds = 0;
    idle.push(worker);
    worker.on('message', (outcome: Outcome) => {
      busy.get(worker)?.resolve(outcome);
      busy.delete(worker);
      worlds += 1;
      if (worlds < MOST_WORLDS) idle.push(worker);
      else {
        void worker.terminate();
        begin();
      }
      next();
    });
    worker.on('error', (error) => {
      const one = busy.get(worker);
      busy.delete(worker);
      one?.reject(new Error(`seed ${one.task.seed} broke down`, { cause: error }));
    });
  }

  for (let thread = 0; thread < threads; thread += 1) begin();

  return {
    run: (task) =>
      new Promise((resolve, reject) => {
        waiting.push({ task, resolve, reject });
        next();
      }),
    async close() {
      await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
    },
  };
}
