/**
 * Derives the log of a Flight from the Flight instead of storing it. Each reading gives the same entries under the
 * same ids, and Flights that nobody asks about take no memory.
 */
import { hashOf, seededRandom } from './seeded-random.ts';
import type { FlightEnd, FlightLogRecord, FlightRecord } from './simulated-record.ts';
import { uuidV7 } from './state.ts';

/** The service's numbers for types of entries. */
const START = 1;
const LANDING = 2;
const STOPPED = 3;
const SDK_LOG = 4;
const ERROR = 5;

/** When the steps of a Flight write to its log, counted from its start. */
const STEPS = [
  { afterUs: 400_000, scope: 'Get entry' },
  { afterUs: 2_000_000, scope: 'Convert document' },
  { afterUs: 9_000_000, scope: 'Translate' },
  { afterUs: 3_600_000_000, scope: 'Wait for review' },
] as const;

/** The distance between the errors of one end; less in a short Flight. */
const ERROR_STEP_US = 200_000;

/** The entries so far, in order of their instants. The Flight's own steps write no more once others are told. */
export function flightLogOf(flight: FlightRecord, nowUs: number): FlightLogRecord[] {
  const entries: FlightLogRecord[] = [];
  const add = (name: string, createdAtUs: number, fields: Readonly<Record<string, unknown>>) => {
    const random = seededRandom(hashOf(`${flight.id} ${name}`));
    entries.push({ id: uuidV7(createdAtUs, random), flightId: flight.id, createdAtUs, fields });
  };
  const { told = [] } = flight;
  const stepsUntilUs = Math.min(nowUs + 1, ...told.map(({ createdAtUs }) => createdAtUs));
  let startedAtUs: number | undefined = flight.startedAtUs;
  for (const [index, end] of [...flight.ends, undefined].entries()) {
    if (startedAtUs === undefined) break;
    add(`start ${index}`, startedAtUs, {
      initiator: 'Trigger',
      message: 'The Flight took off',
      eventType: START,
    });
    const untilUs = Math.min(end?.endedAtUs ?? stepsUntilUs, stepsUntilUs);
    for (const [step, { afterUs, scope }] of STEPS.entries()) {
      if (startedAtUs + afterUs >= untilUs) break;
      const message = `The step "${scope}" has finished`;
      const fields = {
        message,
        eventType: SDK_LOG,
        sdkLogType: 'Information',
        stepId: String(step + 1),
        scope,
      };
      add(`step ${index} ${step}`, startedAtUs + afterUs, fields);
    }
    if (end) addEnd(end, startedAtUs, (name, us, fields) => add(`${name} ${index}`, us, fields));
    startedAtUs = end?.reopenedAtUs;
  }
  return [...entries, ...told].sort((a, b) => a.createdAtUs - b.createdAtUs);
}

function addEnd(
  end: FlightEnd,
  startedAtUs: number,
  add: (name: string, createdAtUs: number, fields: Readonly<Record<string, unknown>>) => void,
): void {
  const { stepId, scope, errorType } = end.failedStep;
  const error = { eventFailedBy: 'EventInvocation', stepId, scope, errorType, eventType: ERROR };
  const errors = [
    ...Array.from({ length: end.retriedErrors }, () => ({ isSkipped: false, isRetried: true })),
    ...Array.from({ length: end.skippedErrors }, () => ({ isSkipped: true, isRetried: false })),
    ...(end.status === 'failed' ? [{ isSkipped: false, isRetried: false }] : []),
  ];
  const stepUs = Math.min(ERROR_STEP_US, Math.floor((end.endedAtUs - startedAtUs) / (errors.length + 1)));
  for (const [at, flags] of errors.entries()) {
    const message = end.errorMessages || `${scope}: the step ended with an error`;
    const createdAtUs = end.endedAtUs - (errors.length - at) * stepUs;
    add(`error ${at}`, createdAtUs, { ...error, message, ...flags });
  }
  if (end.status === 'succeeded') {
    const durationInSeconds = Math.floor((end.endedAtUs - startedAtUs) / 1_000_000);
    add('end', end.endedAtUs, { message: 'The Flight landed', eventType: LANDING, durationInSeconds });
    return;
  }
  const isByPerson = end.status === 'cancelled';
  add('end', end.endedAtUs, {
    initiator: isByPerson ? 'anna@example.com' : undefined,
    message: isByPerson ? 'The Flight was cancelled' : 'The Flight was stopped by an error',
    eventType: STOPPED,
    eventFailedBy: isByPerson ? undefined : 'EventInvocation',
    isSkipped: false,
    isRetried: false,
  });
}
