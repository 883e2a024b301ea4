import type { World } from '../../src/simulator/world/world.ts';

/** A step of an active Flight writes to its log. */
export function wroteStep(world: World, flightId: string, scope: string): void {
  const message = `The step "${scope}" has finished`;
  const fields = { message, eventType: 4, sdkLogType: 'Information', stepId: '9', scope };
  world.appendFlightLog(flightId, { createdAtUs: world.nowUs(), fields });
}
