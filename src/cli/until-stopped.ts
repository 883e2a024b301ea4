import type { Edge } from '../process-io.ts';

/** Resolves at the first SIGINT or SIGTERM. */
export function untilStopped(edge: Edge): Promise<void> {
  return new Promise((resolve) => {
    const cancels = (['SIGINT', 'SIGTERM'] as const).map((name) =>
      edge.onSignal(name, () => {
        for (const cancel of cancels) cancel();
        resolve();
      }),
    );
  });
}
